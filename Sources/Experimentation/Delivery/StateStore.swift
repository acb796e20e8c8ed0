/// Where the client keeps what is not an event: decisions, rules, sticky assignments, overrides, progress of linkings.
///
/// Keys are the client's, made of digests where a part comes from outside. A value that can't be read is as good as none.
public protocol StateStore: Sendable {
    /// The value of a key, or `nil`.
    func value(for key: String) async throws(ExperimentationError) -> [UInt8]?
    /// Sets or, with `nil`, removes a value; when this returns, a crash doesn't undo it.
    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError)
    /// The keys that begin with a text, the least recently written first.
    func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String]
    /// Removes every key that begins with a text, without a trace.
    func removeAll(beginningWith prefix: String) async throws(ExperimentationError)
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
