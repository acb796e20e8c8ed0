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
        // Release the sessions outside the lock: a session that ends takes the lock.
        _ = entries.withLock { entries -> [String: UserSession] in
            entries[session.id] = Entry(session: session)
            // Clean up now and then, so that a server's ended sessions don't accumulate.
            guard entries.count & 0x3FF == 0 else { return [:] }
            let inUse = entries.compactMapValues(\.session)
            entries = inUse.mapValues { Entry(session: $0) }
            return inUse
        }
    }

    /// Removes a session that has ended.
    func remove(_ id: String) { _ = entries.withLock { $0.removeValue(forKey: id) } }
}
