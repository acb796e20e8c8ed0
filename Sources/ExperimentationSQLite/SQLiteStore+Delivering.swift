@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// Leases and settlements.
extension SQLiteStore {
    /// Takes a destination's lane and its next batches, in one transaction.
    public func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        var request = request
        let front = request.token
        var obstacle: ExperimentationError?
        while true {
            let (answer, hasHead) = try await commits.perform(.removal) { [request] database, table in
                (try table.lease(request, database), table.hasHead)
            }
            guard case .leased(let token, let batches, let rest) = answer else {
                if hasHead, case .refused(.nothing) = answer { clearBehind() }
                if case .refused(let answer) = answer { return answer }
                continue
            }
            let read = batches.map { $0.read() }
            let unreadable = read.flatMap(\.unreadable)
            if !unreadable.isEmpty, let error = await drop(unreadable, under: token) { obstacle = error }
            let envelopes = read.map(\.envelopes).filter { !$0.isEmpty }
            if !envelopes.isEmpty { return .leased(Lease(token: token, batches: envelopes, rest: rest)) }
            guard batches.isEmpty else {
                // Dropped events aren't handed out again; those that couldn't be dropped would be.
                request.token = obstacle == nil ? front : token
                continue
            }
            // There are only events that can't be dropped: asking again at once would return them again.
            if front == nil, let obstacle { throw obstacle }
            return .leased(Lease(token: token, batches: [], rest: rest))
        }
    }

    /// Drops unreadable events.
    ///
    /// An unreadable event must not keep the others from being delivered, nor must a failure to drop it: it comes up
    /// again with the next lease.
    ///
    /// - Returns: Why they couldn't be dropped.
    private func drop(_ unreadable: [Int64], under token: LeaseToken) async -> ExperimentationError? {
        do throws(ExperimentationError) {
            try await commits.perform(.removal) { database, table in
                let place = try table.place(of: token.destination, database)
                if table.lanes[place].lane.holds(token) {
                    try table.drop(unreadable, as: .unreadable, place, database)
                }
            }
            return nil
        } catch {
            return error
        }
    }

    /// Returns whether leased events may still be sent.
    ///
    /// Called before each batch is sent, while the outcome of the previous one is being written.
    public func isCurrent(_ token: LeaseToken) async throws(ExperimentationError) -> Bool {
        if let isCurrent = commits.look({ try StoredLane.isCurrent(token, $0) }) { return isCurrent }
        return try await commits.perform(.read) { _, table in
            table.known(token.destination).map { table.lanes[$0].lane.isCurrent(token) } ?? false
        }
    }

    /// Records the outcomes of leased events.
    public func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        let (isCurrent, isLargeAndEmpty) = try await commits.perform(.removal) { database, table in
            let isCurrent = try table.settle(settlements, under: token, now: now, database)
            return (isCurrent, try table.isLargeAndEmpty(database))
        }
        if isLargeAndEmpty { eraseBehind() }
        return isCurrent
    }

    /// Releases a lane.
    public func release(
        _ token: LeaseToken,
        pause: DeliveryPause?,
        now: Date
    ) async throws(ExperimentationError) {
        let hasHead = try await commits.perform(.removal) { database, table in
            let place = try table.place(of: token.destination, database)
            table.lanes[place].lane.release(token, pause: pause, now: now)
            try table.write(place, database)
            return table.hasHead
        }
        if hasHead { clearBehind() }
    }

    /// Deletes the rows of completed deliveries when there is nothing else to do.
    private func clearBehind() { commits.clearLater { [weak self] in self?.eraseBehind() } }
}
