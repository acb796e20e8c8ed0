import Experimentation
import Synchronization

/// The stores of a process that may die: once cut, nothing that it does reaches the store beneath any more.
///
/// The next process opens the same store with a cut of its own, as after a kill: what was leased stays leased until the
/// lease is over, what was being delivered has no verdict.
final class CutStore: ForwardingOutbox, StateStore {
    let inner: any OutboxStore
    private let state: any StateStore
    private let isCut = Atomic(false)

    init(_ store: ClientStore) {
        inner = store.outbox
        state = store.state
    }

    /// Ends the process, as far as the store can tell.
    func cut() { isCut.store(true, ordering: .sequentiallyConsistent) }

    var clientStore: ClientStore { ClientStore(outbox: self, state: self) }

    func willForward() throws(ExperimentationError) {
        if isCut.load(ordering: .sequentiallyConsistent) {
            throw ExperimentationError(.store, "This process has been killed.")
        }
    }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try willForward()
        return try await state.value(for: key)
    }

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try willForward()
        try await state.setValue(value, for: key)
    }

    func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        try willForward()
        return try await state.keys(beginningWith: prefix)
    }

    func removeAll(beginningWith prefix: String) async throws(ExperimentationError) {
        try willForward()
        try await state.removeAll(beginningWith: prefix)
    }
}
