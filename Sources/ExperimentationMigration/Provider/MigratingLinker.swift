import Experimentation

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
        var parts = parts(of: progress)
        let stage = try await migration.current().stage
        let namer = linkers.count == 1 ? linkers[0].side : try await leader(of: progress.from)
        var open = linkers.filter { stage.sendsEvents(to: $0.side) && parts[$0.side.rawValue]?.isComplete != true }
        // The leader comes first: the other vendor gets the resulting ids, and must not delay the leader.
        open.sort { $0.side == namer && $1.side != namer }
        var result = progress
        if let (side, linker) = open.first {
            var own =
                parts[side.rawValue]
                ?? LinkProgress(from: progress.from, to: progress.to, criteria: progress.criteria)
            own.to = progress.to
            let next = try await linker.advance(own)
            parts[side.rawValue] = next
            if side == namer { result.to = next.to }
            if next.isComplete { open.removeFirst() }
        }
        result.isComplete = open.isEmpty
        return try result.with(parts: parts)
    }

    /// Returns the progress at each vendor.
    ///
    /// Earlier versions wrote how many vendors were done, in one byte, and then the notes of the next one.
    private func parts(of progress: LinkProgress) -> [String: LinkProgress] {
        guard let done = progress.notes.first.map(Int.init), done <= linkers.count else { return progress.parts }
        var parts: [String: LinkProgress] = [:]
        for (place, (side, _)) in linkers.enumerated() where place <= done {
            var part = LinkProgress(from: progress.from, to: progress.to, criteria: progress.criteria)
            part.isComplete = place < done
            if place == done { part.notes = Array(progress.notes.dropFirst()) }
            parts[side.rawValue] = part
        }
        return parts
    }

    /// The vendor that leads a user; its ids are the result.
    private func leader(of identity: Identity) async throws(ExperimentationError) -> MigrationSide {
        let standing = try await migration.current()
        if let leader = standing.stage.leader { return leader }
        let pinned = try await migration.people.find(identity).person.side
        return pinned ?? StableKey(identity).side(share: standing.share, salt: migration.plan.salt)
    }
}
