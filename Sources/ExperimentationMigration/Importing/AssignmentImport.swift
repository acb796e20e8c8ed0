import Experimentation

/// What came of an import.
public struct ImportReport: Sendable, Hashable {
    /// How many lines were read, those included that an earlier run had read.
    public var lines = 0
    /// How many of them an earlier run had taken, which was cut.
    public var resumedAfter = 0
    /// How many users were taken.
    public var users = 0
    /// How many of their places.
    public var taken = 0
    /// How many places the user had already.
    public var known = 0
    /// What wasn't taken, by reason.
    public var refused: [String: Int] = [:]
    /// The first lines that weren't taken, with the reason.
    public var examples: [String] = []
}

/// Takes over assignments that live elsewhere: as the old vendor's places, so that the move carries them along.
///
/// A user's present place stays, and of several for one experiment the first. An import that has a name goes on where it was
/// cut; reading the same lines again changes nothing either.
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
    ///   - plan: The plan, whose mapping says which experiments and variations there are.
    ///   - format: The shape of the lines.
    ///   - provider: The vendor that is left.
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
    ///   - name: What the lines are known by, such as a file's path, so that a run that was cut is gone on with; `nil` to begin at
    ///     the beginning in any case.
    ///   - next: Gives the next line, without its end; `nil` at the end.
    ///   - progress: Told how many lines have been read, now and then.
    /// - Returns: What came of it.
    /// - Throws: `ErrorCode.invalidArgument` if the first lines are of another format: nothing has been taken then;
    ///   `ErrorCode.store`; what `next` throws.
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
            // The first line is always read: it may name the columns.
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

    /// Reads lines into memory, for a server that looks users up as they come.
    ///
    /// - Parameters:
    ///   - plan: The plan, whose mapping says which experiments and variations there are.
    ///   - format: The shape of the lines.
    ///   - next: Gives the next line, without its end; `nil` at the end.
    /// - Returns: The table, and what came of it.
    /// - Throws: `ErrorCode.invalidArgument` if the first line is of another format; what `next` throws.
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
        report.refused[fault.description, default: 0] += 1
        if report.examples.count < mostExamples { report.examples.append("line \(line): \(fault)") }
    }

    private func take(
        _ batch: inout [(line: Int, ImportedAssignments)],
        _ report: inout ImportReport,
        _ hasAliases: Bool
    ) async throws {
        // A user's lines are one change, so that none of them waits for another.
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
