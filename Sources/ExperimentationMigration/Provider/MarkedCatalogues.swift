import Experimentation
import Synchronization

/// Marks assignments with the side that made them, so that their exposures go to that vendor.
///
/// A vendor's catalogue is shared by all its users, so the marked copy is made once and shared as well.
final class MarkedCatalogues: Sendable {
    /// The metadata key of the mark.
    static let key = "migration"

    private struct Last {
        var catalogue: FlagCatalogue
        var marked: FlagCatalogue
    }

    private let side: MigrationSide
    private let last = Mutex<Last?>(nil)

    init(_ side: MigrationSide) { self.side = side }

    /// Marks the assignments of decisions.
    ///
    /// - Parameters:
    ///   - decisions: The vendor's decisions.
    ///   - carried: The groups with a carried place, which is reported as kept, however the vendor was told.
    /// - Returns: The same decisions on the marked catalogue.
    func mark(_ decisions: Decisions, carried: Set<String>) -> Decisions {
        let catalogue = decisions.catalogue
        let isForcing = catalogue.assignments.contains { $0.origin == .forcedHere && carried.contains($0.group) }
        let marked = isForcing ? copy(catalogue, carried) : shared(catalogue)
        return Decisions(
            catalogue: marked,
            outcomes: catalogue.keys.indices.map { decisions.outcome(ofFlag: $0) },
            alsoAssigned: decisions.assignmentIndices
        )
    }

    /// Returns the side that made an assignment; `nil` without a mark.
    static func side(of assignment: Assignment) -> MigrationSide? {
        assignment.metadata[key]?.stringValue.flatMap { MigrationSide(rawValue: $0) }
    }

    private func shared(_ catalogue: FlagCatalogue) -> FlagCatalogue {
        if let known = last.withLock({ $0?.catalogue === catalogue ? $0?.marked : nil }) { return known }
        let marked = copy(catalogue, [])
        last.withLock { $0 = Last(catalogue: catalogue, marked: marked) }
        return marked
    }

    private func copy(_ catalogue: FlagCatalogue, _ carried: Set<String>) -> FlagCatalogue {
        let flags = catalogue.keys.enumerated().map { flag, key in
            let outcomes = (0..<catalogue.outcomeCount(ofFlag: flag)).compactMap {
                catalogue.resolution(ofFlag: flag, outcome: $0)
            }
            return FlagCatalogue.Flag(key, outcomes: outcomes)
        }
        let assignments = catalogue.assignments.map { assignment in
            var assignment = assignment
            assignment.metadata[Self.key] = .string(side.rawValue)
            if assignment.origin == .forcedHere, carried.contains(assignment.group) { assignment.origin = .sticky }
            return assignment
        }
        return FlagCatalogue(flags: flags, assignments: assignments)
    }
}

extension Envelope {
    /// The event without the mark, as the vendor gets it.
    var withoutMark: Envelope {
        guard case .exposure(var exposure) = event.kind else { return self }
        exposure.assignment.metadata[MarkedCatalogues.key] = nil
        var copy = self
        copy.event.kind = .exposure(exposure)
        return copy
    }
}

extension FlagSight {
    /// The sight without the mark, as the vendor gets it.
    var withoutMark: FlagSight {
        var exposure = exposure
        exposure.assignment.metadata[MarkedCatalogues.key] = nil
        return FlagSight(user: user, exposure: exposure, isRecorded: isRecorded)
    }
}
