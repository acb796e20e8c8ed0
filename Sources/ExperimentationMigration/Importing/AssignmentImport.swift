import Experimentation

/// What came of an import.
public struct ImportReport: Sendable, Hashable {
    /// How many lines were read.
    public var lines = 0
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
/// A user's present place stays. Reading the same lines again changes nothing, so an import that was cut is begun again.
public struct AssignmentImport: Sendable {
    private let people: People
    private let mapping: Mapping
    private let format: AssignmentFormat
    private static let mostExamples = 20

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
        people = People(in: ProviderContext(of: provider, in: store, ClientEnvironment()).state)
        mapping = plan.mapping
        self.format = format
    }

    /// Imports lines.
    ///
    /// - Parameters:
    ///   - next: Gives the next line, without its end; `nil` at the end.
    ///   - progress: Told how many lines have been read, now and then.
    /// - Returns: What came of it.
    /// - Throws: ``ErrorCode/invalidArgument`` if the first lines are of another format: nothing has been taken then;
    ///   ``ErrorCode/store``; what `next` throws.
    public func run(
        _ next: () async throws -> [UInt8]?,
        progress: (Int) -> Void = { _ in }
    ) async throws -> ImportReport {
        var report = ImportReport()
        var reader = AssignmentReader(format)
        var batch: [ImportedAssignments] = []
        while let line = try await next() {
            report.lines += 1
            do throws(ImportFault) {
                batch += try reader.read(line)
            } catch {
                if report.lines == 1 {
                    throw ExperimentationError(
                        .invalidArgument,
                        "line 1 isn't of the format \(format.rawValue): \(error)"
                    )
                }
                refuse(&report, "line \(report.lines)", error.description)
            }
            if batch.count >= 512 {
                try await take(&batch, &report)
                progress(report.lines)
            }
        }
        try await take(&batch, &report)
        return report
    }

    private func refuse(_ report: inout ImportReport, _ place: String, _ reason: String) {
        report.refused[reason, default: 0] += 1
        if report.examples.count < Self.mostExamples { report.examples.append("\(place): \(reason)") }
    }

    private func take(_ batch: inout [ImportedAssignments], _ report: inout ImportReport) async throws {
        // A user's lines are one change, so that none of them waits for another.
        var users: [ExactText: [String: Person.Place]] = [:]
        for assignments in batch {
            for (experiment, variation) in assignments.variations {
                do throws(ImportFault) {
                    let group = try group(experiment, variation)
                    let place = Person.Place(variation: variation, by: .old)
                    users[ExactText(assignments.user), default: [:]]["old/\(group)"] = place
                } catch {
                    refuse(&report, "line \(report.lines) or before", error.description)
                }
            }
        }
        batch = []
        let asked = users.values.reduce(0) { $0 + $1.count }
        let taken = try await withThrowingTaskGroup(of: Int.self) { group in
            for (user, places) in users { group.addTask { try await write(user.text, places) } }
            var sum = 0
            for try await number in group { sum += number }
            return sum
        }
        report.users += users.count
        report.taken += taken
        report.known += asked - taken
    }

    private func group(_ experiment: String, _ variation: String) throws(ImportFault) -> String {
        let mapped =
            mapping.experiment(ofGroup: experiment, at: .old)
            ?? mapping.experiments.first { $0.old.experiment == experiment }
        guard let mapped else { throw ImportFault("no experiment \"\(experiment)\" is mapped") }
        guard mapped.variations[variation] != nil else {
            throw ImportFault("no variation \"\(variation)\" of \"\(experiment)\" is mapped")
        }
        return mapped.old.group
    }

    private func write(_ user: String, _ places: [String: Person.Place]) async throws -> Int {
        let identity = Identity(id: user)
        while true {
            let found = try await people.find(identity)
            var person = found.person
            person.places.merge(places) { present, _ in present }
            let taken = person.places.count - found.person.places.count
            if taken == 0 { return 0 }
            if try await people.write(person, over: found, of: identity) { return taken }
        }
    }
}
