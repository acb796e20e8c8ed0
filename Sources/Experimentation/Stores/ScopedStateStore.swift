/// A part of a store: keys with a prefix that its user never sees.
struct ScopedStateStore: StateStore {
    private let base: any StateStore
    private let prefix: String

    /// Creates a part of a store.
    ///
    /// - Parameters:
    ///   - base: The whole store.
    ///   - prefix: The prefix of its keys.
    init(_ base: any StateStore, prefix: String) {
        self.base = base
        self.prefix = prefix
    }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try await base.value(for: prefix + key)
    }

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try await base.setValue(value, for: prefix + key)
    }

    func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        try await base.update(prefix + key, to: value, if: expected)
    }

    func keys(beginningWith text: String) async throws(ExperimentationError) -> [String] {
        // By bytes: a key that begins with a combining mark shares a character with the prefix's end.
        try await base.keys(beginningWith: prefix + text).map {
            String(Substring($0.utf8.dropFirst(prefix.utf8.count)))
        }
    }

    func removeAll(beginningWith texts: [String]) async throws(ExperimentationError) {
        try await base.removeAll(beginningWith: texts.map { prefix + $0 })
    }
}
