import Experimentation

/// Change notices of both vendors; forwards those of a vendor that may lead in the current stage.
struct MigratingChanges: ChangeSource {
    let migration: Migration

    func notices() -> AsyncStream<ChangeNotice> {
        // Notices only trigger a refresh, so older ones may be dropped.
        let (stream, continuation) = AsyncStream.makeStream(of: ChangeNotice.self, bufferingPolicy: .bufferingNewest(2))
        let listening = Task { [migration] in
            await withTaskGroup(of: Void.self) { group in
                for side in MigrationSide.allCases {
                    guard let notices = migration.party(side).roles.changes?.notices() else { continue }
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
