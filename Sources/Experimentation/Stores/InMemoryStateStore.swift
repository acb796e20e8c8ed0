import Synchronization

/// A state store that lives as long as the process.
public final class InMemoryStateStore: StateStore {
    private struct Entry {
        var value: [UInt8]
        var written: UInt64
    }

    private struct State {
        var entries: [ExactText: Entry] = [:]
        var writes: UInt64 = 0

        mutating func set(_ value: [UInt8]?, for key: ExactText) {
            writes += 1
            entries[key] = value.map { Entry(value: $0, written: writes) }
        }
    }

    private let state = Mutex(State())

    /// Creates an empty store.
    public init() {}

    /// The value of a key, or `nil`.
    public func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        state.withLock { $0.entries[ExactText(key)]?.value }
    }

    /// Sets or, with `nil`, removes a value.
    public func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        state.withLock { $0.set(value, for: ExactText(key)) }
    }

    /// Sets or removes a value if it is still what the caller has seen.
    public func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        state.withLock { state in
            let current = state.entries[ExactText(key)]?.value
            guard current == expected else { return .conflict(current) }
            state.set(value, for: ExactText(key))
            return .updated
        }
    }

    /// The keys with a prefix, least recently written first.
    public func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        state.withLock { state in
            state.entries.filter { $0.key.text.utf8.starts(with: prefix.utf8) }
                .sorted { $0.value.written < $1.value.written }.map(\.key.text)
        }
    }

    /// Removes every key with one of these prefixes.
    public func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        state.withLock { state in
            if state.entries.isEmpty { return }
            state.entries = state.entries.filter { entry in
                !prefixes.contains { entry.key.text.utf8.starts(with: $0.utf8) }
            }
        }
    }
}

extension ClientStore {
    /// Creates stores that live as long as the process; waiting events are lost with it.
    public static func inMemory() -> ClientStore {
        ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore())
    }
}
