import Experimentation

/// Decides for users given as lines.
struct Evaluation: Sendable {
    let client: ExperimentationClient
    private let writer = EvaluationWriter()

    init(client: ExperimentationClient) { self.client = client }

    /// The output for one line.
    struct Result: Sendable {
        /// JSON, without a line break.
        var line: [UInt8]
        var error: ErrorCode?
        /// Whether the line itself is at fault.
        var isUnreadable = false
    }

    /// Decides for the users of a block, `width` at a time, and returns the results in order.
    func results(of block: [LineReader.Line], width: Int) async -> [Result] {
        await withTaskGroup(of: [(Int, Result)].self) { group in
            var results = [Result?](repeating: nil, count: block.count)
            let lanes = min(width, block.count)
            for lane in 0..<lanes {
                group.addTask {
                    var done: [(Int, Result)] = []
                    for index in stride(from: lane, to: block.count, by: lanes) {
                        done.append((index, await result(of: block[index])))
                    }
                    return done
                }
            }
            for await done in group {
                for (index, result) in done { results[index] = result }
            }
            return results.compactMap { $0 }
        }
    }

    private func result(of line: LineReader.Line) async -> Result {
        var user: FlagValue = .null
        func failed(_ code: ErrorCode, _ message: String) -> Result {
            let error = JSONLine.error(code, message, line: line.number)
            return Result(line: writer.line(user, .none, status: client.status, error: error), error: code)
        }
        do {
            let line = try UserLine(line)
            user = line.written
            let earlier = EarlierAssignments(line.assignments)
            let decisions = try await client.decisions(for: line.user, honoring: earlier).decisions
            return Result(line: writer.line(user, decisions, status: client.status, error: .null))
        } catch let error as LineError {
            var result = failed(error.code, error.message)
            result.isUnreadable = true
            return result
        } catch let error as ExperimentationError {
            return failed(error.code, error.message)
        } catch {
            return failed(.general, "line \(line.number): \(error)")
        }
    }
}
