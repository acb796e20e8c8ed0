import Experimentation

/// The result of an import.
public struct ImportReport: Sendable, Hashable {
    /// The number of lines read, including those of an earlier, interrupted run.
    public var lines = 0
    /// The number of lines that an interrupted run had already imported.
    public var resumedAfter = 0
    /// The number of users imported.
    public var users = 0
    /// The number of places imported.
    public var taken = 0
    /// The number of places that the user already had.
    public var known = 0
    /// The number of rejections, by reason, including those of an earlier, interrupted run; a reason names no user and
    /// nothing that the plan doesn't have.
    public var refused: [String: Int] = [:]
    /// The first rejected lines of this run, with the reason.
    public var examples: [String] = []
}

/// Imports another system's assignments as the old vendor's places, so that the move carries them.
///
/// A place that a user already has stays; of several for one experiment, the first one counts. An interrupted import
/// with a name resumes where it stopped if the lines up to there and the mapping are the same, and importing the same
/// lines twice changes nothing.
public struct AssignmentImport: Sendable {
    private let people: People
    private let state: any StateStore
    private let mapping: Mapping
    private let format: AssignmentFormat
    private static let mostExamples = 20
    private static let perBatch = 512
    private static let places = "migration/imports/"

    /// Creates an import.
    ///
    /// - Parameters:
    ///   - plan: The plan, whose mapping lists the experiments and variations.
    ///   - format: The format of the lines.
    ///   - provider: The old vendor.
    ///   - store: The store of the client that moves.
    public init(
        _ plan: MigrationPlan,
        as format: AssignmentFormat,
        from provider: any ExperimentationProvider,
        into store: any StateStore
    ) {
        let environment = ClientEnvironment()
        let own = ProviderContext(of: provider, in: store, environment).state
        state = SealedState(own, log: environment.log)
        people = People(in: own, log: environment.log)
        mapping = plan.mapping
        self.format = format
    }

    /// Imports lines.
    ///
    /// - Parameters:
    ///   - name: The name of the lines, such as a file's path, by which an interrupted import resumes; `nil` to always
    ///     begin at the beginning.
    ///   - next: Returns the next line without its line break; `nil` at the end.
    ///   - progress: Called now and then with the number of lines read.
    /// - Returns: The result.
    /// - Throws: `ErrorCode.invalidArgument` if the first lines have another format, with nothing imported;
    ///   `ErrorCode.store`; errors of `next`.
    public func run(
        named name: String? = nil,
        _ next: () async throws -> [UInt8]?,
        progress: (Int) -> Void = { _ in }
    ) async throws -> ImportReport {
        var number = 0
        return try await importLines(
            named: name,
            {
                number += 1
                return try await next().map { ImportLine(number: number, bytes: $0) }
            },
            progress: progress
        )
    }

    /// Imports lines that have numbers of their own; see ``run(named:_:progress:)``.
    package func importLines(
        named name: String? = nil,
        _ next: () async throws -> ImportLine?,
        progress: (Int) -> Void = { _ in }
    ) async throws -> ImportReport {
        var work = Work(reader: AssignmentReader(format), hasAliases: try await people.hasAliases())
        let key = name.map { Self.places + Digest.hex($0, format.rawValue) }
        var resumption: ImportResumption?
        if let key { resumption = ImportResumption(mapping, after: try await state.value(for: key)) }
        while let line = try await next() {
            work.report.lines += 1
            let number = work.report.lines
            // The first line is read even when resuming, because it may be the header.
            if number == 1 { try expectFormat(line, &work.reader) }
            let lines = resumption?.pass(line) ?? [.init(number: number, input: line)]
            if let resumption, resumption.resumedAfter > work.report.resumedAfter {
                (work.report.resumedAfter, work.report.refused) = (resumption.resumedAfter, resumption.refused)
            }
            guard try await take(lines, &work) else { continue }
            if let key, let marks = resumption?.mark(refused: work.report.refused) {
                try await state.setValue(marks, for: key)
            }
            progress(number)
        }
        _ = try await take(resumption?.release() ?? [], &work)
        try await write(&work)
        if let key { try await state.setValue(nil, for: key) }
        return work.report
    }

    private func expectFormat(_ line: ImportLine, _ reader: inout AssignmentReader) throws {
        do throws(ImportFault) {
            _ = try reader.read(line)
        } catch {
            throw ExperimentationError(
                .invalidArgument,
                "line \(line.number) isn't of the format \(format.rawValue): \(error)"
            )
        }
    }

    /// Reads lines into memory, for a server that looks up users as they come.
    ///
    /// - Parameters:
    ///   - plan: The plan, whose mapping lists the experiments and variations.
    ///   - format: The format of the lines.
    ///   - next: Returns the next line without its line break; `nil` at the end.
    /// - Returns: The table and the result.
    /// - Throws: `ErrorCode.invalidArgument` if the first line has another format; errors of `next`.
    public static func table(
        _ plan: MigrationPlan,
        as format: AssignmentFormat,
        _ next: () async throws -> [UInt8]?
    ) async throws -> (AssignmentTable, ImportReport) {
        var report = ImportReport()
        var table = AssignmentTable(plan.mapping)
        var reader = AssignmentReader(format)
        while let line = try await next() {
            report.lines += 1
            do throws(ImportFault) {
                for assignments in try reader.read(line) {
                    let (taken, refused) = table.add(assignments)
                    report.taken += taken
                    report.known += assignments.variations.count - refused.count - taken
                    for fault in refused { refuse(&report, report.lines, fault) }
                }
            } catch {
                if report.lines == 1 {
                    throw ExperimentationError(
                        .invalidArgument,
                        "line 1 isn't of the format \(format.rawValue): \(error)"
                    )
                }
                refuse(&report, report.lines, error)
            }
        }
        report.users = table.count
        return (table, report)
    }

    private static func refuse(_ report: inout ImportReport, _ line: Int, _ fault: ImportFault) {
        report.refused[fault.reason, default: 0] += 1
        if report.examples.count < mostExamples { report.examples.append("line \(line): \(fault)") }
    }

    // MARK: Writing

    /// An import under way.
    private struct Work {
        var report = ImportReport()
        var reader: AssignmentReader
        var batch = ImportBatch()
        /// Whether any record may have a second id.
        var hasAliases: Bool
    }

    /// Takes lines, and writes batches as they become full.
    ///
    /// - Returns: Whether a batch was written and nothing is left to write.
    private func take(_ lines: [ImportResumption.Line], _ work: inout Work) async throws -> Bool {
        var isWritten = false
        for line in lines {
            // The line was already read for its format, and may be a header only once.
            if line.number == 1 { work.reader = AssignmentReader(format) }
            do throws(ImportFault) {
                for assignments in try work.reader.read(line.input) {
                    add(assignments, at: line.input.number, to: &work)
                }
            } catch {
                Self.refuse(&work.report, line.input.number, error)
            }
            isWritten = work.batch.lines >= Self.perBatch
            if isWritten { try await write(&work) }
        }
        return isWritten
    }

    private func add(_ assignments: ImportedAssignments, at line: Int, to work: inout Work) {
        work.batch.lines += 1
        for (experiment, variation) in assignments.variations.sorted(by: { $0.key < $1.key }) {
            do throws(ImportFault) {
                let index = try mapping.importIndex(experiment, variation)
                work.batch.add(
                    Person.Place(variation: variation, by: .old),
                    for: "old/\(mapping.experiments[index].old.group)",
                    of: assignments.user,
                    assignments.id
                )
            } catch {
                Self.refuse(&work.report, line, error)
            }
        }
    }

    private func write(_ work: inout Work) async throws {
        let batch = work.batch
        work.batch = ImportBatch()
        if batch.hasSecondIDs { work.hasAliases = true }
        let mayHaveAlias = work.hasAliases
        let taken = try await withThrowingTaskGroup(of: Int.self) { group in
            for entries in batch.users {
                group.addTask {
                    var sum = 0
                    for entry in entries {
                        sum += try await people.add(entry.places, of: entry.user, entry.id, mayHaveAlias: mayHaveAlias)
                    }
                    return sum
                }
            }
            var sum = 0
            for try await number in group { sum += number }
            return sum
        }
        work.report.users += batch.users.count { !$0.isEmpty }
        work.report.taken += taken
        work.report.known += batch.count - taken
    }
}
