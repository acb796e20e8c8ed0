import ArgumentParser
import ConformanceSubjects
import Experimentation
import Foundation

/// The command `xp evaluate`.
struct EvaluateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evaluate",
        abstract: "Decide for users: users in, decisions out, one JSON object a line each.",
        discussion: """
            INPUT, one object a line; all but the id may be left out:
              {"user":{"id":"ada","anonymousId":"d-1","attributes":{"plan":"pro"},"consent":true},
               "assignments":{"checkout":"green"}}

            OUTPUT, in the order of the input:
              {"user":…,"decisions":{key:{"value","variant","reason","error","metadata"}},
               "assignments":[{"experiment","group","variation","isControl"}],"status":…,"error":null}

            A line that can't be taken has an error object in its place; the rest go on, and the exit status is 1.

            EXAMPLES
              echo '{"user":{"id":"ada"}}' | xp evaluate --config flagship.json
              xp evaluate --config sigma.yaml --input users.jsonl > decisions.jsonl
            """
    )

    @Option(help: ArgumentHelp("The vendor and its settings, JSON or YAML.", valueName: "file"))
    var config: String

    @Option(help: ArgumentHelp("The users; - is standard input.", valueName: "file"))
    var input: String = "-"

    @Option(help: ArgumentHelp("How many users are decided for at the same time.", valueName: "n"))
    var width: Int = 64

    func validate() throws {
        guard (1...1024).contains(width) else { throw ValidationError("--width: expected a number from 1 to 1024") }
    }

    func run() async throws {
        let configuration = try Configuration(at: config)
        let lines = try LineReader(input)
        let client = try await configuration.client(store: .inMemory())
        let evaluation = Evaluation(client: client)
        var count = Count()
        // A block at a time: its users side by side, then its lines in order.
        var isAtEnd = false
        while !isAtEnd {
            var block: [LineReader.Line] = []
            while block.count < width * 4 {
                // Interactive input and slow pipes get an answer to each line at once.
                if !block.isEmpty, await lines.wouldWait { break }
                guard let line = try await lines.next() else {
                    isAtEnd = true
                    break
                }
                block.append(line)
            }
            let results = await evaluation.results(of: block, width: width)
            var text = ""
            for result in results {
                text += JSONLine.text(result.document) + "\n"
                count.add(result)
            }
            try Terminal.write(text)
            Terminal.progress("\(count.all) users decided")
        }
        Terminal.endProgress()
        await client.shutdown(within: .milliseconds(100))
        if count.good == 0, count.unreachable > 0 {
            throw Failure(.unavailable, "\(configuration.vendor.name) can't be reached")
        }
        if count.good < count.all {
            throw Failure(
                .checkFailed,
                "\(count.all - count.good) of \(count.all) lines were not decided; the output says why"
            )
        }
    }

    private struct Count {
        var all = 0
        var good = 0
        var unreachable = 0

        mutating func add(_ result: Evaluation.Result) {
            all += 1
            switch result.error {
            case nil: good += 1
            case .transport, .timeout: unreachable += 1
            default: break
            }
        }
    }
}

/// Users into decisions.
struct Evaluation: Sendable {
    let client: ExperimentationClient

    /// What is printed for one line.
    struct Result: Sendable {
        var document: FlagValue
        var error: ErrorCode?
    }

    /// Decides for the users of some lines, several at a time.
    func results(of block: [LineReader.Line], width: Int) async -> [Result] {
        await withTaskGroup(of: [(Int, Result)].self) { group in
            var results = [Result?](repeating: nil, count: block.count)
            for lane in 0..<min(width, block.count) {
                group.addTask {
                    var done: [(Int, Result)] = []
                    for index in stride(from: lane, to: block.count, by: width) {
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
        var written: FlagValue = .null
        do {
            let line = try UserLine(line)
            written = line.written
            let decisions = try await client.decisions(for: line.user, honoring: line.assignments)
            return Result(document: document(written, decisions, error: nil))
        } catch let error as LineError {
            let failure = JSONLine.error(error.code, error.message, line: line.number)
            return Result(document: document(written, .none, error: failure), error: error.code)
        } catch let error as ExperimentationError {
            let failure = JSONLine.error(error.code, error.message, line: line.number)
            return Result(document: document(written, .none, error: failure), error: error.code)
        } catch {
            let failure = JSONLine.error(.general, "line \(line.number): \(error)", line: line.number)
            return Result(document: document(written, .none, error: failure), error: .general)
        }
    }

    private func document(_ user: FlagValue, _ decisions: Decisions, error: FlagValue?) -> FlagValue {
        var flags: [String: FlagValue] = [:]
        for key in decisions.keys {
            guard let resolution = decisions[key] else { continue }
            flags[key] = [
                "value": resolution.value, "variant": resolution.variant.map { .string($0) } ?? .null,
                "reason": .string(resolution.reason.rawValue),
                "error": resolution.error.map { JSONLine.error($0, resolution.errorMessage ?? "") } ?? .null,
                "metadata": .object(resolution.metadata),
            ]
        }
        let assignments = decisions.assignments.map { assignment -> FlagValue in
            [
                "experiment": .string(assignment.experiment.id), "group": .string(assignment.group),
                "variation": .string(assignment.variation.id), "isControl": .bool(assignment.variation.isControl),
                "isHoldout": .bool(assignment.isHoldout), "origin": .string(assignment.origin.rawValue),
            ]
        }
        return [
            "user": user, "decisions": .object(flags), "assignments": .array(assignments),
            "status": .string(client.status.rawValue), "error": error ?? .null,
        ]
    }
}
