import Experimentation
import Foundation
import Synchronization

/// The stores of a process that may die: once cut, nothing that it does reaches the store beneath any more.
///
/// The next process opens the same store with a cut of its own, as after a kill: what was leased stays leased until the
/// lease is over, what was being delivered has no verdict.
final class CutStore: OutboxStore, StateStore {
    private let outbox: any OutboxStore
    private let state: any StateStore
    private let isCut = Atomic(false)

    init(_ store: ClientStore) {
        outbox = store.outbox
        state = store.state
    }

    /// Ends the process, as far as the store can tell.
    func cut() { isCut.store(true, ordering: .sequentiallyConsistent) }

    var clientStore: ClientStore { ClientStore(outbox: self, state: self) }

    private func check() throws(ExperimentationError) {
        if isCut.load(ordering: .sequentiallyConsistent) {
            throw ExperimentationError(.store, "This process has been killed.")
        }
    }

    func append(_ envelopes: [Envelope], isHeld: Bool) async throws(ExperimentationError) {
        try check()
        try await outbox.append(envelopes, isHeld: isHeld)
    }

    func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]] {
        try check()
        return try await outbox.lease(wanted)
    }

    func settle(_ settlements: [Settlement]) async throws(ExperimentationError) {
        try check()
        try await outbox.settle(settlements)
    }

    func release(userID: String) async throws(ExperimentationError) {
        try check()
        try await outbox.release(userID: userID)
    }

    func purge(userID: String) async throws(ExperimentationError) -> Int {
        try check()
        return try await outbox.purge(userID: userID)
    }

    func expire(before date: Date) async throws(ExperimentationError) -> Int {
        try check()
        return try await outbox.expire(before: date)
    }

    func status(now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try check()
        return try await outbox.status(now: now)
    }

    func ledger() async throws(ExperimentationError) -> Ledger {
        try check()
        return try await outbox.ledger()
    }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try check()
        return try await state.value(for: key)
    }

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try check()
        try await state.setValue(value, for: key)
    }

    func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        try check()
        return try await state.keys(beginningWith: prefix)
    }

    func removeAll(beginningWith prefix: String) async throws(ExperimentationError) {
        try check()
        try await state.removeAll(beginningWith: prefix)
    }
}
