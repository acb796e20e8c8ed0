import Synchronization

/// The users who may have left traces in the file: those whose events were stored since it was last rewritten.
///
/// SQLite overwrites what it deletes, but where it moves rows between pages, copies stay behind in the unused part of
/// the old page. Only rewriting the file removes these copies, so it is rewritten only where there may be any.
final class Traces: Sendable {
    private struct State {
        var users: Set<String> = []
        /// Whether others may have left traces that aren't known here: an earlier run, another process.
        var isUnknown = true
        var hasValues = false
        var isErasingOwed = false
    }

    private static let mostUsers = 50_000
    private let state = Mutex(State())

    /// Notes the users of events that are about to be stored.
    func note(_ events: [StoredEvent]) {
        state.withLock { state in
            for index in events.indices where !events[index].deliveries.isEmpty {
                state.users.insert(events[index].user)
            }
            if state.users.count > Self.mostUsers {
                state.users = []
                state.isUnknown = true
            }
        }
    }

    /// Notes that others may have left traces: another process, or the one that wrote the file to which the store has moved.
    func noteUnknown() { state.withLock { $0.isUnknown = true } }

    /// Notes that a value is about to be stored.
    func noteValue() { state.withLock { $0.hasValues = true } }

    /// Whether traces of a user may be left.
    func mayExist(of user: String) -> Bool { state.withLock { $0.isUnknown || $0.users.contains(user) } }

    /// Whether traces of a value may be left.
    var mayExistOfValues: Bool { state.withLock { $0.isUnknown || $0.hasValues } }

    /// Notes that the file must be rewritten.
    func oweErasing() { state.withLock { $0.isErasingOwed = true } }

    /// Whether the file must be rewritten.
    var isErasingOwed: Bool { state.withLock { $0.isErasingOwed } }

    /// Notes that the file was rewritten, and which users still have events in it.
    ///
    /// - Parameters:
    ///   - users: The users whose events are left.
    ///   - isShared: Whether other processes also have the file open.
    func erased(leaving users: some Sequence<String>, isShared: Bool) {
        state.withLock { state in
            state = State(users: Set(users), isUnknown: isShared, hasValues: true)
        }
    }
}
