@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB
import Synchronization

/// Inspecting a store.
extension SQLiteStore {
    /// The file's path without symbolic links, and a digest of random bytes that the contents have from their creation.
    ///
    /// A newly created file has different bytes; a restored copy, and what was saved from a damaged file, has the same
    /// ones. While the file can't be read, and once it is closed, the bytes are those that were last read.
    public var contentsID: String? {
        let salt = lastSalt.withLock { last in
            last = commits.salt ?? last
            return last
        }
        let mark = Identity.mark(of: realPath, salt: Array(salt)).map { String($0, radix: 16) }
        return "\(realPath) \(mark.joined(separator: "."))"
    }

    /// The destinations for which this file has ledgers.
    public func destinations() async throws(ExperimentationError) -> [Destination] {
        try await look { _, table in table.lanes.map(\.lane.destination) }
    }

    /// The status of waiting events.
    public func status(of destination: Destination?, now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try await look { database, table in
            try table.status(of: destination, now: now, database)
        }
    }

    /// The ledger.
    public func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
        try await look { database, table in try table.ledger(of: destination, database) }
    }

    /// What waits and the ledgers, read in one transaction, so that other processes' work in between can't make them
    /// contradict each other.
    package func accounts(now: Date) async throws(ExperimentationError) -> StoreAccounts {
        try await look { database, table in
            StoreAccounts(
                status: try table.status(of: nil, now: now, database),
                ledger: try table.ledger(of: nil, database),
                destinations: try table.lanes.map(\.lane.destination).map { destination in
                    StoreAccounts.Account(
                        destination: destination,
                        status: try table.status(of: destination, now: now, database),
                        ledger: try table.ledger(of: destination, database)
                    )
                }
            )
        }
    }

    /// A page of the waiting events, in the order of acceptance; the events stay in the store.
    ///
    /// Unreadable events are left out.
    ///
    /// - Parameters:
    ///   - sequence: Where the last page ended; 0 for the first page.
    ///   - limit: The size of the page.
    /// - Returns: The next events; none at the end.
    /// - Throws: `ErrorCode.store`.
    public func waiting(
        after sequence: Int64 = 0,
        limit: Int = 1_000
    ) async throws(ExperimentationError) -> [WaitingEvent] {
        var last = sequence
        while true {
            let rows = try await look { [last] database, table in
                try table.waiting(after: last, limit: limit, database)
            }
            let events = rows.compactMap(\.event)
            // A page without readable events isn't the end.
            guard events.isEmpty, let end = rows.last else { return events }
            last = end.sequence
        }
    }

    /// Reads, once the rows of evicted events are gone.
    ///
    /// If the rows can't be deleted now, their events merely count as waiting.
    private func look<Value: Sendable>(
        _ body: @escaping @Sendable (Database, inout OutboxTable) throws -> Value
    ) async throws(ExperimentationError) -> Value {
        if commits.hasEvicted.load(ordering: .relaxed) {
            // Not as a removal: the reserve isn't given up just for looking.
            let value = try? await commits.perform(.write) { database, table in
                try table.dropEvicted(database)
                return try body(database, &table)
            }
            if let value { return value }
        }
        return try await commits.perform(.read, body)
    }

    /// Deletes the rows of evicted events, if that is possible now.
    func dropEvicted() async {
        guard commits.hasEvicted.load(ordering: .relaxed) else { return }
        try? await commits.perform(.removal) { database, table in try table.dropEvicted(database) }
    }
}

extension GroupCommit {
    /// The random bytes that the contents have from their creation; `nil` if they can't be read now.
    var salt: Data? { look(StoreSchema.salt) ?? (try? database.writeWithoutTransaction(StoreSchema.salt)) }
}
