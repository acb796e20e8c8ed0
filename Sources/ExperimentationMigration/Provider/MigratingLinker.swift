import Experimentation
import Foundation

/// Links a user at the vendors that the stage sends to, one after the other.
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
        var notes = Notes(progress.notes)
        let stage = try await migration.current().stage
        while linkers.indices.contains(notes.done), !stage.sendsEvents(to: linkers[notes.done].side) {
            (notes.done, notes.own) = (notes.done + 1, [])
        }
        guard linkers.indices.contains(notes.done) else { return finished(progress, notes) }
        var own = progress
        own.notes = notes.own
        own.isComplete = false
        let (side, linker) = linkers[notes.done]
        let next = try await linker.advance(own)
        notes.own = next.isComplete ? [] : next.notes
        if next.isComplete { notes.done += 1 }
        var result = progress
        // The resulting ids are those of the vendor that leads the user.
        let namer = linkers.count == 1 ? side : try await leader(of: progress.from)
        if side == namer { result.to = next.to }
        return finished(result, notes)
    }

    private func leader(of identity: Identity) async throws(ExperimentationError) -> MigrationSide {
        let standing = try await migration.current()
        if let leader = standing.stage.leader { return leader }
        let pinned = try await migration.people.find(identity).person.side
        return pinned ?? StableKey(identity).side(share: standing.share, salt: migration.plan.salt)
    }

    private func finished(_ progress: LinkProgress, _ notes: Notes) -> LinkProgress {
        var progress = progress
        progress.notes = notes.bytes
        progress.isComplete = notes.done >= linkers.count
        return progress
    }

    /// The number of linkers that are done, and the notes of the current one.
    private struct Notes {
        var done = 0
        var own: [UInt8] = []

        init(_ bytes: [UInt8]) {
            guard let first = bytes.first else { return }
            done = Int(first)
            own = Array(bytes.dropFirst())
        }

        var bytes: [UInt8] { [UInt8(clamping: done)] + own }
    }
}
