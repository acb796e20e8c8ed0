import ConformanceKit
import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB

/// A SQLite store that forgets deliveries while their rows still exist.
struct ForgottenHead: OutboxStoreDecorator {
    let base: any OutboxStore
    let raw: DatabaseQueue

    /// A bench of these stores.
    static let bench = StoreBench<any OutboxStore>(features: [.durable, .shared, .limited]) { size in
        let folder = TemporaryFolder()
        return StorePlace {
            let limits = StoreLimits(maximumCount: size.maximumCount, maximumEventBytes: size.maximumEventBytes)
            let store = try await ClientStore.sqlite(at: folder.file(), options: .init(limits: limits))
            return ForgottenHead(base: store.outbox, raw: try DatabaseQueue(path: folder.file().path))
        } close: { store in
            try (store as? ForgottenHead)?.raw.close()
            await ((store as? ForgottenHead)?.base as? SQLiteStore)?.close()
        }
    }

    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        let isCurrent = try await base.settle(settlements, under: token, now: now)
        do {
            try await raw.writeWithoutTransaction { database in
                try database.execute(sql: "UPDATE destination SET head = 0")
            }
        } catch {
            throw ExperimentationError(.store, "The twin failed.", cause: error)
        }
        return isCurrent
    }
}
