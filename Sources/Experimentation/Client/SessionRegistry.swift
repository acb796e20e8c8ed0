import Synchronization

/// The sessions in use by id, held weakly.
final class SessionRegistry: Sendable {
    private struct Entry { weak var session: UserSession? }

    private let entries = Mutex<[String: Entry]>([:])

    /// A session that is still in use.
    subscript(id: String) -> UserSession? { entries.withLock { $0[id]?.session } }

    /// All sessions that are still in use.
    var all: [UserSession] { entries.withLock { $0.values.compactMap(\.session) } }

    /// Adds a session.
    func add(_ session: UserSession) {
        entries.withLock { entries in
            entries[session.id] = Entry(session: session)
            // Clean up now and then, so that a server's ended sessions don't accumulate.
            if entries.count & 0x3FF == 0 { entries = entries.filter { $1.session != nil } }
        }
    }

    /// Removes a session that has ended.
    func remove(_ id: String) { _ = entries.withLock { $0.removeValue(forKey: id) } }
}
