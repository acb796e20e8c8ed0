import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation

/// Runs `xp compare --users`: asks both sides about the users in blocks and writes the report.
struct AgreementRun {
    let from: String
    let to: String
    let world: World
    let options: AgreementOptions

    /// The number of users in memory at a time.
    private static let block = 20_000
    /// The maximum size of a rules file, in bytes.
    private static let largestRules = 64 << 20

    func write(as format: ComparisonReport.Format, to output: String?) async throws {
        let given = try options.pairs.map(Self.pairs) ?? []
        let lines = try options.input.map { try LineReader($0) }
        let sides = try await Sides(from, to, world, largestRules: Self.largestRules)
        if let fault = Pairing.faults(in: given, from: sides.before, to: sides.after).first {
            await sides.close()
            throw Failure(.input, "\(options.pairs ?? "--pairs"): \(fault)")
        }
        let runner = AgreementRunner(from: sides.before, to: sides.after, given: given, at: Date())
        var count = runner.nothing
        var unreadable = 0
        if let lines {
            unreadable = try await Self.count(lines, with: runner, into: &count)
        } else {
            await Self.count(options.users ?? 0, like: sides.population, with: runner, into: &count)
        }
        let exposures = await sides.exposures(users: options.exposures)
        Terminal.endProgress()
        await sides.close()
        let agreement = runner.agreement(of: count, unreadable: unreadable, exposures: exposures)
        try OutputFile.deliver(
            AgreementReport(agreement).text(as: format, isColored: output == nil && Terminal.isColored),
            to: output
        )
        if let problem = count.firstFailure, count.users == 0 { throw Failure(.unavailable, problem) }
        guard unreadable + count.unanswered == 0 else {
            let reason = count.firstFailure.map { ": \($0)" } ?? ""
            let undecided = (unreadable + count.unanswered).of("user was", "users were")
            throw Failure(.checkFailed, "\(undecided) not decided for\(reason)")
        }
    }

    // MARK: Users

    private static func count(
        _ users: Int,
        like population: Population,
        with runner: AgreementRunner,
        into count: inout AgreementCount
    ) async {
        // Asking a vendor is slow; small blocks keep the progress line moving.
        let block = runner.isAsking ? 500 : Self.block * 5
        var done = 0
        while done < users {
            let end = min(users, done + block)
            count.add(await runner.count(done..<end) { AgreementRunner.Subject(population[$0]) })
            done = end
            Terminal.progress("\(done) of \(users) users decided for")
        }
    }

    /// Counts the users of a file; returns the number of unreadable lines.
    private static func count(
        _ lines: LineReader,
        with runner: AgreementRunner,
        into count: inout AgreementCount
    ) async throws -> Int {
        var unreadable = 0
        var isAtEnd = false
        while !isAtEnd {
            var block: [LineReader.Line] = []
            while block.count < Self.block {
                guard let line = try await lines.next() else {
                    isAtEnd = true
                    break
                }
                block.append(line)
            }
            let read = await subjects(of: block, lanes: runner.lanes)
            for complaint in read.complaints.prefix(max(0, 5 - unreadable)) { Terminal.say("xp: \(complaint)") }
            unreadable += read.complaints.count
            let users = read.subjects
            count.add(await runner.count(users.indices) { users[$0] })
            Terminal.progress(count.users.of("user", "users") + " decided for")
        }
        return unreadable
    }

    private static func subjects(
        of block: [LineReader.Line],
        lanes: Int
    ) async -> (subjects: [AgreementRunner.Subject], complaints: [String]) {
        await withTaskGroup(of: (Int, [AgreementRunner.Subject], [String]).self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    var subjects: [AgreementRunner.Subject] = []
                    var complaints: [String] = []
                    for line in block[(block.count * lane / lanes)..<(block.count * (lane + 1) / lanes)] {
                        do {
                            let line = try UserLine(line)
                            subjects.append(AgreementRunner.Subject(line.user, assignments: line.assignments))
                        } catch {
                            complaints.append((error as? LineError)?.message ?? "\(error)")
                        }
                    }
                    return (lane, subjects, complaints)
                }
            }
            let parts = await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }
            return (parts.flatMap { $0.1 }, parts.flatMap { $0.2 })
        }
    }

    // MARK: Pairs

    private static func pairs(_ path: String) throws -> [Pairing.Given] {
        do {
            let document = try InputFile.document(path)
            guard case .array(let elements) = document.value else {
                throw Failure(.input, "\(path): expected a list of pairs")
            }
            return try elements.enumerated().map { index, element in
                var reader = try DocumentReader(element, named: "\(path): pair \(index + 1)")
                let pair = Pairing.Given(
                    try reader.name("from"),
                    try reader.name("to"),
                    variations: try reader.texts("variations")
                )
                try reader.finish()
                return pair
            }
        } catch let error as DocumentError {
            throw Failure(error)
        }
    }
}
