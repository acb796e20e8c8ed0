import Experimentation
import Foundation

/// Links a user at the vendors that the stage sends to, first at the one that leads the user.
struct MigratingLinker: IdentityLinker {
    let migration: Migration
    private let linkers: [(side: MigrationSide, linker: any IdentityLinker)]

    /// Creates a linker; `nil` if neither vendor links.
    init?(_ migration: Migration) {
        self.migration = migration
        linkers = [migration.old, migration.new].compactMap { party in
            party.roles.identity.map { (party.side, $0) }
        }
        if linkers.isEmpty { return nil }
    }

    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
        var sides = Self.sides(in: progress.notes)
        let stage = try await migration.current().stage
        let namer = linkers.count == 1 ? linkers[0].side : try await leader(of: progress.from)
        var open = linkers.filter { stage.sendsEvents(to: $0.side) && sides[$0.side.rawValue]?.isDone != true }
        // The other vendor is told the ids that come of this, and if it fails, that delays nobody.
        open.sort { $0.side == namer && $1.side != namer }
        guard let (side, linker) = open.first else { return try Self.after(progress, sides, isComplete: true) }
        var own = progress
        own.notes = sides[side.rawValue]?.notes ?? []
        own.isComplete = false
        let next = try await linker.advance(own)
        sides[side.rawValue] = Side(notes: next.isComplete ? [] : next.notes, isDone: next.isComplete)
        var result = progress
        if side == namer { result.to = next.to }
        return try Self.after(result, sides, isComplete: next.isComplete && open.count == 1)
    }

    /// The vendor that leads a user, whose ids result.
    private func leader(of identity: Identity) async throws(ExperimentationError) -> MigrationSide {
        let standing = try await migration.current()
        if let leader = standing.stage.leader { return leader }
        let pinned = try await migration.people.find(identity).person.side
        return pinned ?? StableKey(identity).side(share: standing.share, salt: migration.plan.salt)
    }

    /// How far the link is at one vendor.
    private struct Side: Codable {
        /// The vendor's own notes.
        var notes: [UInt8]
        var isDone: Bool
    }

    private static func sides(in notes: [UInt8]) -> [String: Side] {
        (try? JSONDecoder().decode([String: Side].self, from: Data(notes))) ?? [:]
    }

    private static func after(
        _ progress: LinkProgress,
        _ sides: [String: Side],
        isComplete: Bool
    ) throws(ExperimentationError) -> LinkProgress {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let notes = try? encoder.encode(sides) else {
            throw ExperimentationError(.store, "The progress of linking can't be stored.")
        }
        var progress = progress
        progress.notes = Array(notes)
        progress.isComplete = isComplete
        return progress
    }
}
