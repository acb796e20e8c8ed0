import Synchronization

/// A state store that lives as long as the process.
public final class InMemoryStateStore: StateStore {
    private struct Entry {
        var value: [UInt8]
        var written: UInt64
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var writes: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Creates an empty store.
    public init() {}

    /// The value of a key, or `nil`.
    public func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        state.withLock { $0.entries[key]?.value }
    }

    /// Sets or, with `nil`, removes a value.
    public func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        state.withLock { state in
            state.writes += 1
            state.entries[key] = value.map { Entry(value: $0, written: state.writes) }
        }
    }

    /// The keys that begin with a text, the least recently written first.
    public func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        state.withLock { state in
            state.entries.filter { $0.key.hasPrefix(prefix) }.sorted { $0.value.written < $1.value.written }.map(\.key)
        }
    }

    /// Removes every key that begins with a text.
    public func removeAll(beginningWith prefix: String) async throws(ExperimentationError) {
        state.withLock { state in
            state.entries = state.entries.filter { !$0.key.hasPrefix(prefix) }
        }
    }
}

extension ClientStore {
    /// Creates stores that live as long as the process; what waits is lost with it.
    public static func inMemory() -> ClientStore {
        ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore())
    }
}
