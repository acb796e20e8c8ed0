import Experimentation
import Synchronization

/// Decisions with the side that gave them noted in every assignment, so that an exposure finds its way to that vendor.
///
/// A vendor's catalogue is shared by all its users; it is marked once, and so are they.
final class MarkedCatalogues: Sendable {
    /// Where an assignment says who gave it.
    static let key = "migration"

    private struct Last {
        var catalogue: FlagCatalogue
        var marked: FlagCatalogue
    }

    private let side: MigrationSide
    private let last = Mutex<Last?>(nil)

    init(_ side: MigrationSide) { self.side = side }

    /// The decisions with their assignments marked.
    ///
    /// - Parameters:
    ///   - decisions: What the vendor decided.
    ///   - carried: The groups whose place was carried over: it is a kept one, by whatever means the vendor was told.
    /// - Returns: The same decisions over the marked catalogue.
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

    /// Who gave an assignment; `nil` if it isn't marked.
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
    /// The event without the mark, as the vendor is to get it.
    var withoutMark: Envelope {
        guard case .exposure(var exposure) = event.kind else { return self }
        exposure.assignment.metadata[MarkedCatalogues.key] = nil
        var copy = self
        copy.event.kind = .exposure(exposure)
        return copy
    }
}

extension FlagSight {
    /// The sight without the mark, as the vendor is to get it.
    var withoutMark: FlagSight {
        var exposure = exposure
        exposure.assignment.metadata[MarkedCatalogues.key] = nil
        return FlagSight(user: user, exposure: exposure, isRecorded: isRecorded)
    }
}
