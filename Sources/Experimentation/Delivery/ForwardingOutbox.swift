import Foundation

/// An outbox that is another one but for what it does differently: whoever adopts this writes down only that.
package protocol ForwardingOutbox: OutboxStore {
    /// The other one.
    var inner: any OutboxStore { get }

    /// Called before each operation that is passed on; what it throws is thrown in its place.
    func willForward() throws(ExperimentationError)
}

extension ForwardingOutbox {
    package func willForward() throws(ExperimentationError) {}

    package func append(_ envelopes: [Envelope], isHeld: Bool) async throws(ExperimentationError) {
        try willForward()
        try await inner.append(envelopes, isHeld: isHeld)
    }

    package func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]] {
        try willForward()
        return try await inner.lease(wanted)
    }

    package func settle(_ settlements: [Settlement]) async throws(ExperimentationError) {
        try willForward()
        try await inner.settle(settlements)
    }

    package func release(userID: String) async throws(ExperimentationError) {
        try willForward()
        try await inner.release(userID: userID)
    }

    package func purge(userID: String) async throws(ExperimentationError) -> Int {
        try willForward()
        return try await inner.purge(userID: userID)
    }

    package func expire(before date: Date) async throws(ExperimentationError) -> Int {
        try willForward()
        return try await inner.expire(before: date)
    }

    package func status(now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try willForward()
        return try await inner.status(now: now)
    }

    package func ledger() async throws(ExperimentationError) -> Ledger {
        try willForward()
        return try await inner.ledger()
    }

    package func waiting(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent] {
        try willForward()
        return try await inner.waiting(after: sequence, limit: limit)
    }
}
