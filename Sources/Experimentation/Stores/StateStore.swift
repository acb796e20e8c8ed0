/// Where the client keeps what is not an event: decisions, rules, sticky assignments, overrides, progress of linkings.
///
/// Keys are the client's, made of digests where a part comes from outside. A value that can't be read is as good as none.
public protocol StateStore: Sendable {
    /// The value of a key, or `nil`.
    func value(for key: String) async throws(ExperimentationError) -> [UInt8]?
    /// Sets or, with `nil`, removes a value; when this returns, a crash doesn't undo it.
    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError)
    /// Sets or, with `nil`, removes a value, if it is still what the caller has seen; both in one transaction.
    ///
    /// With `nil` expected, this puts a value where there is none. Of several that decide at once, in whatever process,
    /// one succeeds, and the others learn what it has written.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - value: The new value.
    ///   - expected: What must be there now; `nil` for nothing.
    /// - Returns: Whether the value was set, or what is there instead.
    /// - Throws: ``ErrorCode/store``.
    func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate
    /// The keys that begin with a text, the least recently written first.
    func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String]
    /// Removes every key that begins with one of some texts, without a trace; all of them in one transaction.
    func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError)
}

extension StateStore {
    /// Removes every key that begins with a text, without a trace.
    public func removeAll(beginningWith prefix: String) async throws(ExperimentationError) {
        try await removeAll(beginningWith: [prefix])
    }
}

/// How a conditional change of a value ended.
public enum StateUpdate: Sendable, Hashable {
    /// The value is set.
    case updated
    /// Something else is there; `nil` if nothing is.
    case conflict([UInt8]?)
}

/// The stores of one client.
///
/// ```swift
/// let client = try await ExperimentationClient(provider: provider, store: .inMemory())
/// ```
public struct ClientStore: Sendable {
    /// Where events wait.
    public var outbox: any OutboxStore
    /// Where the rest is kept.
    public var state: any StateStore

    /// Creates a pair of stores.
    public init(outbox: any OutboxStore, state: any StateStore) {
        self.outbox = outbox
        self.state = state
    }
}
