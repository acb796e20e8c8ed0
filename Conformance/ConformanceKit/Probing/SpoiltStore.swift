import Experimentation
import Synchronization

/// A store in which a byte of each value was corrupted before its first read; later writes are stored unchanged.
final class SpoiltStore: OutboxStoreDecorator, StateStoreDecorator {
    let base: any OutboxStore
    let baseState: any StateStore
    private let known = Mutex(Set<String>())

    init(_ store: ClientStore) {
        base = store.outbox
        baseState = store.state
    }

    var clientStore: ClientStore { ClientStore(outbox: self, state: self) }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        guard var value = try await baseState.value(for: key), !value.isEmpty, isNew(key) else {
            return try await baseState.value(for: key)
        }
        // Near the end, where the payload is.
        value[value.count - 1 - value.count / 8] ^= 0x20
        try await baseState.setValue(value, for: key)
        return value
    }

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        _ = isNew(key)
        try await baseState.setValue(value, for: key)
    }

    func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        _ = isNew(key)
        return try await baseState.update(key, to: value, if: expected)
    }

    private func isNew(_ key: String) -> Bool { known.withLock { $0.insert(key).inserted } }
}
