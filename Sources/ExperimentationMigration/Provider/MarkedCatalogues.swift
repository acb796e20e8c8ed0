import Experimentation
import Synchronization

/// Marks assignments with the side that made them, so that their exposures go to that vendor.
///
/// A vendor's catalogue is shared by all its users, so the marked copy is made once and shared as well.
final class MarkedCatalogues: Sendable {
    /// The metadata key of the stage in which an assignment was answered.
    private static let stageKey = "migrationStage"

    private struct Marked {
        var catalogue: FlagCatalogue
        var forced: Set<String>
        var stage: MigrationStage
        var marked: FlagCatalogue
    }

    private let side: MigrationSide
    /// The latest copies; there are several, because users differ in what was carried for them.
    private let latest = Mutex<[Marked]>([])
    private static let most = 8

    init(_ side: MigrationSide) { self.side = side }

    /// Marks the assignments of decisions.
    ///
    /// - Parameters:
    ///   - decisions: The vendor's decisions.
    ///   - carried: The groups with a carried place; such a place is reported as kept, however the vendor was told.
    ///   - stage: The stage in which they are answered.
    /// - Returns: The same decisions on the marked catalogue.
    func mark(_ decisions: Decisions, carried: Set<String>, at stage: MigrationStage) -> Decisions {
        let catalogue = decisions.catalogue
        var forced: Set<String> = []
        if !carried.isEmpty {
            for assignment in catalogue.assignments
            where assignment.origin == .forcedHere && carried.contains(assignment.group) {
                forced.insert(assignment.group)
            }
        }
        return Decisions(
            catalogue: marked(catalogue, forced, stage),
            outcomes: catalogue.keys.indices.map { decisions.outcome(ofFlag: $0) },
            alsoAssigned: decisions.assignmentIndices
        )
    }

    /// Returns the side that made an assignment; `nil` without a mark.
    static func side(of assignment: Assignment) -> MigrationSide? {
        assignment.answerer.flatMap { MigrationSide(rawValue: $0) }
    }

    /// Returns the stage in which an assignment was answered; `nil` without a mark.
    static func stage(of assignment: Assignment) -> MigrationStage? {
        assignment.metadata[stageKey]?.stringValue.flatMap { MigrationStage(rawValue: $0) }
    }

    /// Removes the mark.
    static func unmark(_ assignment: inout Assignment) {
        assignment.metadata[Assignment.answererKey] = nil
        assignment.metadata[stageKey] = nil
    }

    private func marked(_ catalogue: FlagCatalogue, _ forced: Set<String>, _ stage: MigrationStage) -> FlagCatalogue {
        let known = latest.withLock { latest in
            latest.first { $0.catalogue === catalogue && $0.stage == stage && $0.forced == forced }?.marked
        }
        if let known { return known }
        let marked = copy(catalogue, forced, stage)
        latest.withLock { latest in
            // Copies of other rules aren't needed any more.
            latest.removeAll { $0.catalogue !== catalogue }
            if latest.count == Self.most { latest.removeFirst() }
            latest.append(Marked(catalogue: catalogue, forced: forced, stage: stage, marked: marked))
        }
        return marked
    }

    private func copy(_ catalogue: FlagCatalogue, _ forced: Set<String>, _ stage: MigrationStage) -> FlagCatalogue {
        let flags = catalogue.keys.enumerated().map { flag, key in
            let outcomes = (0..<catalogue.outcomeCount(ofFlag: flag)).compactMap {
                catalogue.resolution(ofFlag: flag, outcome: $0)
            }
            return FlagCatalogue.Flag(key, outcomes: outcomes)
        }
        let assignments = catalogue.assignments.map { assignment in
            var assignment = assignment
            assignment.metadata[Assignment.answererKey] = .string(side.rawValue)
            assignment.metadata[Self.stageKey] = .string(stage.rawValue)
            if assignment.origin == .forcedHere, forced.contains(assignment.group) { assignment.origin = .sticky }
            return assignment
        }
        return FlagCatalogue(flags: flags, assignments: assignments)
    }
}

extension Envelope {
    /// The event without the mark, as the vendor gets it.
    var withoutMark: Envelope {
        guard case .exposure(var exposure) = event.kind else { return self }
        MarkedCatalogues.unmark(&exposure.assignment)
        var copy = self
        copy.event.kind = .exposure(exposure)
        return copy
    }
}

extension FlagSight {
    /// The sight without the mark, as the vendor gets it.
    var withoutMark: FlagSight {
        var exposure = exposure
        MarkedCatalogues.unmark(&exposure.assignment)
        return FlagSight(user: user, exposure: exposure, isRecorded: isRecorded)
    }
}
