import Synchronization

/// A change of what a session reads.
public struct DecisionChange: Sendable, Equatable {
    /// The flags that read differently now, including new and removed ones.
    public var flags: Set<String>
    /// Whether there are decisions, and how good they are.
    public var status: ProviderStatus

    /// Creates a change, for comparisons.
    public init(flags: Set<String>, status: ProviderStatus) {
        self.flags = flags
        self.status = status
    }
}

extension UserSession {
    /// The changes of what this session reads, from now on.
    ///
    /// A change is announced when flags read differently or the status changes: after a refresh, a failed answer, a
    /// login, an override. The sequence ends with the client, or when its consumer stops iterating.
    ///
    /// ```swift
    /// for await change in session.changes where change.flags.contains("theme") { apply(session.string("theme", default: "light")) }
    /// ```
    public var changes: AsyncStream<DecisionChange> { changeBoard.stream() }

    /// Announces a change explicitly.
    func announceChange(of flags: Set<String>) {
        guard changeBoard.hasListeners else { return }
        changeBoard.announce(DecisionChange(flags: flags, status: status))
    }

    /// Replaces the snapshot, unless `change` returns `nil`, and announces what reads differently.
    @discardableResult
    func update(_ change: (Snapshot) -> Snapshot?) -> Bool {
        guard changeBoard.hasListeners else { return snapshots.update(change) }
        let (before, status) = (snapshots.current.decisions, self.status)
        guard snapshots.update(change) else { return false }
        let flags = before.keysThatDiffer(from: snapshots.current.decisions)
        if !flags.isEmpty || status != self.status {
            changeBoard.announce(DecisionChange(flags: flags, status: self.status))
        }
        return true
    }
}

extension Decisions {
    /// Returns the keys of flags whose values differ, or that only one of the two has.
    func keysThatDiffer(from other: Decisions) -> Set<String> {
        Set(keys).union(other.keys).filter { self[$0]?.value != other[$0]?.value }
    }
}

/// The consumers of a session's changes.
final class ChangeBoard: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<DecisionChange>.Continuation] = [:]
        var nextID: UInt64 = 0
    }

    private let state = Mutex(State())

    deinit { for listener in state.withLock({ $0.listeners }).values { listener.finish() } }

    var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

    func stream() -> AsyncStream<DecisionChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: DecisionChange.self)
        state.withLock { state in
            let id = state.nextID
            state.nextID += 1
            state.listeners[id] = continuation
            continuation.onTermination = { [weak self] _ in self?.remove(id) }
        }
        return stream
    }

    func announce(_ change: DecisionChange) {
        state.withLock { state in
            for listener in state.listeners.values { listener.yield(change) }
        }
    }

    private func remove(_ id: UInt64) { _ = state.withLock { $0.listeners.removeValue(forKey: id) } }
}
