import ConformanceKit
import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB

/// A SQLite store that forgets the rows of its latest events although it has acknowledged them.
struct ForgottenTail: OutboxStoreDecorator {
    let base: any OutboxStore
    let raw: DatabaseQueue

    /// A bench of these stores.
    static let bench = StoreBench<any OutboxStore>(features: [.durable, .shared, .limited]) { size in
        let folder = TemporaryFolder()
        return StorePlace {
            let limits = StoreLimits(maximumCount: size.maximumCount, maximumEventBytes: size.maximumEventBytes)
            let store = try await ClientStore.sqlite(at: folder.file(), options: .init(limits: limits))
            return ForgottenTail(base: store.outbox, raw: try DatabaseQueue(path: folder.file().path))
        } close: { store in
            try (store as? ForgottenTail)?.raw.close()
            await ((store as? ForgottenTail)?.base as? SQLiteStore)?.close()
        }
    }

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        let refusals = try await base.append(events, now: now)
        do {
            try await raw.writeWithoutTransaction { database in
                try database.execute(sql: "UPDATE destination SET through = (SELECT max(sequence) FROM event)")
            }
        } catch {
            throw ExperimentationError(.store, "The twin failed.", cause: error)
        }
        return refusals
    }
}
