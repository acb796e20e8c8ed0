/// Where the client keeps everything but events: decisions, rules, sticky assignments, overrides, progress of links.
///
/// The client chooses the keys, and uses digests for any part that comes from outside. An unreadable value counts as
/// missing.
public protocol StateStore: Sendable {
    /// The value of a key, or `nil`.
    func value(for key: String) async throws(ExperimentationError) -> [UInt8]?
    /// Sets or, with `nil`, removes a value; when this returns, a crash doesn't undo it.
    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError)
    /// Sets or, with `nil`, removes a value if it is still what the caller has seen; both in one transaction.
    ///
    /// With `nil` expected, this sets a value only where there is none. Of several concurrent callers, in any process,
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
    /// The keys with a prefix, least recently written first.
    func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String]
    /// Removes every key with one of these prefixes, without a trace, in one transaction.
    func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError)
}

extension StateStore {
    /// Removes every key with a prefix, without a trace.
    public func removeAll(beginningWith prefix: String) async throws(ExperimentationError) {
        try await removeAll(beginningWith: [prefix])
    }
}

/// The outcome of a conditional update.
public enum StateUpdate: Sendable, Hashable {
    /// The value was set.
    case updated
    /// Another value is there; `nil` if none is.
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
    /// Where everything else is kept.
    public var state: any StateStore

    /// Creates a pair of stores.
    public init(outbox: any OutboxStore, state: any StateStore) {
        self.outbox = outbox
        self.state = state
    }
}
