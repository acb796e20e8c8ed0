import Experimentation

/// What either vendor tells of changes, as far as it may answer anybody in the stage of that moment.
struct MigratingChanges: ChangeSource {
    let migration: Migration

    func notices() -> AsyncStream<ChangeNotice> {
        // One that waits is as good as several: it is the state at the end that is asked for.
        let (stream, continuation) = AsyncStream.makeStream(of: ChangeNotice.self, bufferingPolicy: .bufferingNewest(2))
        let listening = Task { [migration] in
            await withTaskGroup(of: Void.self) { group in
                for side in MigrationSide.allCases {
                    guard let notices = migration.party(side).roles.changes?.notices() else { continue }
                    group.addTask {
                        for await notice in notices where migration.stage.mayLead(side) { continuation.yield(notice) }
                    }
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in listening.cancel() }
        return stream
    }
}
