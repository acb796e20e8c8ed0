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
    /// The number of rejections, by reason; a reason names no user and nothing that the plan doesn't have.
    public var refused: [String: Int] = [:]
    /// The first rejected lines, with the reason.
    public var examples: [String] = []
}

/// Imports another system's assignments as the old vendor's places, so that the move carries them.
///
/// A place that a user already has stays; of several for one experiment, the first one counts. An interrupted import
/// with a name resumes where it stopped, and importing the same lines twice changes nothing.
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
        var report = ImportReport()
        var reader = AssignmentReader(format)
        var batch: [(line: Int, ImportedAssignments)] = []
        var place: String?
        let hasAliases = try await people.hasAliases()
        while let line = try await next() {
            report.lines += 1
            let isFirst = report.lines == 1
            if isFirst, let name {
                let key = Self.places + Digest.hex(name, format.rawValue, String(decoding: line, as: UTF8.self))
                place = key
                report.resumedAfter = try await position(key)
            }
            // The first line is read even when resuming, because it may be the header.
            if report.lines <= report.resumedAfter, !isFirst { continue }
            do throws(ImportFault) {
                let found = try reader.read(line)
                if report.lines > report.resumedAfter { batch += found.map { (report.lines, $0) } }
            } catch {
                if isFirst {
                    throw ExperimentationError(
                        .invalidArgument,
                        "line 1 isn't of the format \(format.rawValue): \(error)"
                    )
                }
                Self.refuse(&report, report.lines, error)
            }
            if batch.count >= Self.perBatch {
                try await take(&batch, &report, hasAliases)
                if let place { try await state.setValue(Array(String(report.lines).utf8), for: place) }
                progress(report.lines)
            }
        }
        try await take(&batch, &report, hasAliases)
        if let place { try await state.setValue(nil, for: place) }
        return report
    }

    private func position(_ key: String) async throws(ExperimentationError) -> Int {
        try await state.value(for: key).flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
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

    private func take(
        _ batch: inout [(line: Int, ImportedAssignments)],
        _ report: inout ImportReport,
        _ hasAliases: Bool
    ) async throws {
        // Grouped by user, so that concurrent writes never concern the same user.
        var users: [ExactText: [String: Person.Place]] = [:]
        var asked = 0
        for (line, assignments) in batch {
            for (experiment, variation) in assignments.variations.sorted(by: { $0.key < $1.key }) {
                do throws(ImportFault) {
                    let index = try mapping.importIndex(experiment, variation)
                    let key = "old/\(mapping.experiments[index].old.group)"
                    asked += 1
                    let user = ExactText(assignments.user)
                    if users[user]?[key] == nil {
                        users[user, default: [:]][key] = Person.Place(variation: variation, by: .old)
                    }
                } catch {
                    Self.refuse(&report, line, error)
                }
            }
        }
        batch = []
        let taken = try await withThrowingTaskGroup(of: Int.self) { group in
            for (user, places) in users {
                group.addTask { try await people.add(places, of: user.text, mayHaveAlias: hasAliases) }
            }
            var sum = 0
            for try await number in group { sum += number }
            return sum
        }
        report.users += users.count
        report.taken += taken
        report.known += asked - taken
    }
}
