import Experimentation

/// Change notices of both vendors; forwards those of a vendor that may lead in the current stage.
struct MigratingChanges: ChangeSource {
    let migration: Migration

    func notices() -> AsyncStream<ChangeNotice> {
        // Notices only trigger a refresh, so older ones may be dropped.
        let (stream, continuation) = AsyncStream.makeStream(of: ChangeNotice.self, bufferingPolicy: .bufferingNewest(2))
        // Before this returns: what a vendor opens with its first answer, it opens only for a listener.
        let parties = MigrationSide.allCases.compactMap { side in
            migration.party(side).roles.changes.map { (side, $0.notices()) }
        }
        let listening = Task { [migration] in
            await withTaskGroup(of: Void.self) { group in
                for (side, notices) in parties {
                    group.addTask {
                        for await notice in notices {
                            if notice == .changed { await migration.party(side).rules?.expire() }
                            if migration.stage.mayLead(side) { continuation.yield(notice) }
                        }
                    }
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in listening.cancel() }
        return stream
    }
}
