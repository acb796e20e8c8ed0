@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// What can be seen of a store.
extension SQLiteStore {
    /// The destinations that this file has accounts of.
    public func destinations() async throws(ExperimentationError) -> [Destination] {
        try await commits.perform(.read) { _, table in table.lanes.map(\.lane.destination) }
    }

    /// What waits.
    public func status(of destination: Destination?, now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try await commits.perform(.read) { database, table in
            try table.status(of: destination, now: now, database)
        }
    }

    /// The accounts.
    public func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
        try await commits.perform(.read) { database, table in try table.ledger(of: destination, database) }
    }

    /// The events that wait, in the order of acceptance, without taking them from the delivery.
    ///
    /// What can't be read any more is left out.
    ///
    /// - Parameters:
    ///   - sequence: Where the last call ended; 0 at the beginning.
    ///   - limit: How many at most.
    /// - Returns: The next events; none at the end.
    /// - Throws: `ErrorCode.store`.
    public func waiting(
        after sequence: Int64 = 0,
        limit: Int = 1_000
    ) async throws(ExperimentationError) -> [WaitingEvent] {
        var last = sequence
        while true {
            let rows = try await commits.perform(.read) { [last] database, table in
                try table.waiting(after: last, limit: limit, database)
            }
            let events = rows.compactMap(\.event)
            // A page of which nothing can be read isn't the end.
            guard events.isEmpty, let end = rows.last else { return events }
            last = end.sequence
        }
    }
}
