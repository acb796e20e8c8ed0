import Synchronization

/// A state store that lives as long as the process.
public final class InMemoryStateStore: StateStore {
    private struct Entry {
        var value: [UInt8]
        var written: UInt64
    }

    /// Keys of one folder: those with the same text up to and including the last slash.
    private typealias Folder = [ExactText: Entry]

    private struct State {
        /// By folder, so that listing a prefix doesn't look at every key of a server with a million users.
        var folders: [ExactText: Folder] = [:]
        var writes: UInt64 = 0

        subscript(key: String) -> [UInt8]? { folders[Self.folder(of: key)]?[ExactText(key)]?.value }

        mutating func set(_ value: [UInt8]?, for key: String) {
            writes += 1
            let folder = Self.folder(of: key)
            folders[folder, default: [:]][ExactText(key)] = value.map { Entry(value: $0, written: writes) }
            if folders[folder]?.isEmpty == true { folders[folder] = nil }
        }

        func entries(beginningWith prefix: String) -> [(key: ExactText, value: Entry)] {
            folders.flatMap { name, folder in
                if name.text.utf8.starts(with: prefix.utf8) { return Array(folder) }
                guard prefix.utf8.starts(with: name.text.utf8) else { return [] }
                return folder.filter { $0.key.text.utf8.starts(with: prefix.utf8) }
            }
        }

        private static func folder(of key: String) -> ExactText {
            let end = key.utf8.lastIndex(of: UInt8(ascii: "/")).map(key.utf8.index(after:)) ?? key.startIndex
            return ExactText(String(key[..<end]))
        }
    }

    private let state = Mutex(State())

    /// Creates an empty store.
    public init() {}

    /// The value of a key, or `nil`.
    public func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        state.withLock { $0[key] }
    }

    /// Sets or, with `nil`, removes a value.
    public func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        state.withLock { $0.set(value, for: key) }
    }

    /// Sets or removes a value if it is still what the caller has seen.
    public func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        state.withLock { state in
            let current = state[key]
            guard current == expected else { return .conflict(current) }
            state.set(value, for: key)
            return .updated
        }
    }

    /// The keys with a prefix, least recently written first.
    public func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        state.withLock { state in
            state.entries(beginningWith: prefix).sorted { $0.value.written < $1.value.written }.map(\.key.text)
        }
    }

    /// Removes every key with one of these prefixes.
    public func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        state.withLock { state in
            for entry in prefixes.flatMap(state.entries(beginningWith:)) { state.set(nil, for: entry.key.text) }
        }
    }
}

extension ClientStore {
    /// Creates stores that live as long as the process; waiting events are lost with it.
    public static func inMemory() -> ClientStore {
        ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore())
    }
}
