import Experimentation
import Synchronization

/// A state store that fails the first read of a kind of value.
final class UnreadableState: StateStoreDecorator {
    let baseState: any StateStore
    private let part: String
    private let hasFailed = Mutex(false)

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - state: The store beneath.
    ///   - part: What the value's key contains.
    init(_ state: any StateStore, failing part: String) {
        baseState = state
        self.part = part
    }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        let fails = hasFailed.withLock { hasFailed in
            if hasFailed || !key.contains(part) { return false }
            hasFailed = true
            return true
        }
        if fails { throw ExperimentationError(.store, "The database is locked.") }
        return try await baseState.value(for: key)
    }
}
