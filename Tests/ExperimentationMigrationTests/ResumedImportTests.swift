import Experimentation
import ExperimentationTesting
import Testing

@testable import ExperimentationMigration

@Suite("Resumed imports")
struct ResumedImportTests {
    private struct Cut: Error {}

    /// Two thousand users, of whom every second one is in another experiment.
    private static func lines(_ prefix: String = "u") -> [String] {
        ["unit,experiment,variant"] + (0..<2_000).map { "\(prefix)\($0),e\($0 % 2),a" }
    }

    /// Imports lines under a name that is always the same.
    private func run(_ lines: [String], _ mapping: Mapping, _ moves: Moves) async throws -> ImportReport {
        var rest = lines[...]
        var plan = moves.plan
        plan.mapping = mapping
        let work = AssignmentImport(plan, as: .csv, from: moves.old, into: moves.store.state)
        return try await work.run(named: "file.csv") { rest.popFirst().map { Array($0.utf8) } }
    }

    /// Imports two batches, then stops.
    private func interrupt(_ mapping: Mapping, _ moves: Moves) async throws {
        var rest = Self.lines()[...]
        var plan = moves.plan
        plan.mapping = mapping
        let work = AssignmentImport(plan, as: .csv, from: moves.old, into: moves.store.state)
        await #expect(throws: Cut.self) {
            try await work.run(named: "file.csv") {
                if rest.count < 700 { throw Cut() }
                return rest.popFirst().map { Array($0.utf8) }
            }
        }
    }

    private func sum(_ report: ImportReport) -> [Int] {
        [report.resumedAfter, report.taken, report.known, report.refused.values.reduce(0, +)]
    }

    @Test("with a corrected mapping an import starts over, so that lines refused before are imported")
    func correctedMapping() async throws {
        let moves = Moves(experiments: 2)
        try await interrupt(Moves.mapping(1), moves)
        #expect(try await sum(run(Self.lines(), Moves.mapping(2), moves)) == [0, 1_488, 512, 0])
        #expect(try await MigrationRecord(moves.plan, from: moves.old, in: moves.store.state).people == 2_000)
    }

    @Test("with the same mapping, lines that the interrupted run refused are reported too")
    func refusedBefore() async throws {
        let moves = Moves(experiments: 2)
        try await interrupt(Moves.mapping(1), moves)
        #expect(try await sum(run(Self.lines(), Moves.mapping(1), moves)) == [1_025, 488, 0, 1_000])
    }

    @Test("weights and the new vendor's ids don't matter to an import, which resumes")
    func otherWeights() async throws {
        let moves = Moves(experiments: 2)
        try await interrupt(Moves.mapping(2), moves)
        var mapped = Moves.mapping(2).experiments
        (mapped[0].weights, mapped[0].new) = (["a": 1, "b": 3], .init("other"))
        #expect(try await sum(run(Self.lines(), Mapping(mapped), moves)) == [1_025, 976, 0, 0])
    }

    @Test("another file of the same name and header is imported from its beginning")
    func otherFile() async throws {
        let moves = Moves(experiments: 2)
        try await interrupt(Moves.mapping(2), moves)
        #expect(try await sum(run(Self.lines("v"), Moves.mapping(2), moves)) == [0, 2_000, 0, 0])
    }

    @Test("an import of a file that differs only further on resumes before the difference, even if the file is shorter")
    func differsLater() async throws {
        let moves = Moves(experiments: 2)
        try await interrupt(Moves.mapping(2), moves)
        #expect(try await sum(run(Array(Self.lines().prefix(800)), Moves.mapping(2), moves)) == [513, 0, 287, 0])
        try await interrupt(Moves.mapping(2), moves)
        let other = Self.lines().prefix(699) + Self.lines("v").dropFirst(699)
        #expect(try await sum(run(Array(other), Moves.mapping(2), moves)) == [513, 1_302, 186, 0])
    }

    @Test("only a few of many progress marks are kept, and the last one counts")
    func manyMarks() throws {
        let lines = (0..<1_000).map { ImportLine(number: $0, bytes: Array("line \($0)".utf8)) }
        var first = ImportResumption(Mapping(), after: nil)
        var stored: [UInt8]?
        for line in lines {
            #expect(first.pass(line).map(\.input) == [line])
            stored = first.mark(refused: [:])
        }
        #expect(try #require(stored).count < 6_000)
        var same = ImportResumption(Mapping(), after: stored)
        #expect(lines.allSatisfy { same.pass($0).isEmpty })
        #expect(same.resumedAfter == 1_000 && same.release().isEmpty)
        var other = ImportResumption(Mapping(), after: stored)
        var out: [Int] = []
        for (index, line) in lines.enumerated() { out += other.pass(index == 600 ? lines[0] : line).map(\.number) }
        try #require((550...600).contains(other.resumedAfter))
        #expect(out == Array((other.resumedAfter + 1)...1_000))
    }
}
