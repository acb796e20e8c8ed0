import Synchronization

/// Who may have left something in the file: users whose events were stored since it was last rewritten.
///
/// SQLite overwrites what it deletes, but where it moves rows from page to page, copies stay behind in the unused part
/// of the old one. Only rewriting the file removes those, and that is done only where there may be any.
final class Traces: Sendable {
    private struct State {
        var users: Set<String> = []
        /// Whether others may have left something that isn't known here: an earlier run, another process.
        var isUnknown = true
        var hasValues = false
        var isErasingOwed = false
    }

    private static let mostUsers = 50_000
    private let state = Mutex(State())

    /// Notes users whose events are about to be stored.
    func note(_ users: some Sequence<String>) {
        state.withLock { state in
            for user in users { state.users.insert(user) }
            if state.users.count > Self.mostUsers {
                state.users = []
                state.isUnknown = true
            }
        }
    }

    /// Notes that others may have left something, in a file that the store has moved to.
    func noteUnknown() { state.withLock { $0.isUnknown = true } }

    /// Notes that a value is about to be stored.
    func noteValue() { state.withLock { $0.hasValues = true } }

    /// Whether something of a user may be left.
    func mayExist(of user: String) -> Bool { state.withLock { $0.isUnknown || $0.users.contains(user) } }

    /// Whether something of a value may be left.
    var mayExistOfValues: Bool { state.withLock { $0.isUnknown || $0.hasValues } }

    /// Notes that the file is to be rewritten.
    func oweErasing() { state.withLock { $0.isErasingOwed = true } }

    /// Whether the file is to be rewritten.
    var isErasingOwed: Bool { state.withLock { $0.isErasingOwed } }

    /// Notes that the file was rewritten, and who still has events in it.
    ///
    /// - Parameters:
    ///   - users: Whose events are left.
    ///   - isShared: Whether other processes have the file open as well.
    func erased(leaving users: some Sequence<String>, isShared: Bool) {
        state.withLock { state in
            state = State(users: Set(users), isUnknown: isShared, hasValues: true)
        }
    }
}
