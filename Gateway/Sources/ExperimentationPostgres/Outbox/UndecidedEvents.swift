import Experimentation
import Synchronization

/// Events whose acceptance ended without an outcome: the answer to their commit was lost, and couldn't be looked up.
///
/// The server may carry out the commit at any time after that. Events are kept in memory, at least the last 10,000; the
/// earliest are forgotten first.
final class UndecidedEvents: Sendable {
    private struct Commit {
        var mark: TransactionMark
        /// The events' ids, byte for byte.
        var ids: Set<[UInt8]>
    }

    private struct State {
        var commits: [Commit] = []
        var count = 0
    }

    private static let most = 10_000

    private let state = Mutex(State())

    /// Notes the transaction that may have accepted these events.
    func note(_ ids: [String], _ mark: TransactionMark) {
        if ids.isEmpty { return }
        let commit = Commit(mark: mark, ids: Set(ids.map { Array($0.utf8) }))
        state.withLock { state in
            state.commits.append(commit)
            state.count += commit.ids.count
            while let first = state.commits.first, state.count - first.ids.count >= Self.most {
                state.count -= first.ids.count
                state.commits.removeFirst()
            }
        }
    }

    /// The last transaction that may have accepted an event, if there is one.
    func mark(of id: String) -> TransactionMark? {
        let id = Array(id.utf8)
        return state.withLock { $0.commits.last { $0.ids.contains(id) }?.mark }
    }

    /// Forgets an event whose outcome is known.
    func decided(_ id: String) {
        let id = Array(id.utf8)
        state.withLock { state in
            for index in state.commits.indices where state.commits[index].ids.remove(id) != nil { state.count -= 1 }
            state.commits.removeAll(where: \.ids.isEmpty)
        }
    }
}

extension PostgresOutboxStore {
    /// Whether an event of a user was accepted, as far as the server can tell.
    ///
    /// Waits for every acceptance under way for the user's shard, including those of lost connections: each holds the
    /// shard's lock until the server has ended it. Then looks for the event among the waiting ones. If it isn't there,
    /// asks the server about the transaction, if this process knows which one it was.
    func wasAccepted(_ id: String, of userID: String) async throws(ExperimentationError) -> Bool {
        let (person, shard) = person(userID)
        let isThere = try await pool.transaction(.repeatable) { transaction throws(ConnectionFailure) in
            _ = try transaction.rows(Statement("SELECT 1 FROM shard WHERE shard = $1 FOR SHARE", .whole(shard)))
            return try !transaction.rows(Self.waiting(id, of: person, in: shard)).isEmpty
        }
        guard !isThere, let mark = undecided.mark(of: id) else { return isThere }
        let schema = pool.schema
        // In a transaction of its own: the lock gave the other transaction an id, which may be the one to ask about.
        let outcome = try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            try mark.outcome(in: schema, transaction.rows)
        }
        switch outcome {
        case .open: throw ConnectionFailure.late(pool.patience).error
        case .committed, .absent: undecided.decided(id)
        case .unknown: break
        }
        return outcome == .committed
    }

    private static func waiting(_ id: String, of person: [UInt8], in shard: Int64) -> Statement {
        Statement(
            """
            SELECT 1 FROM delivery d JOIN event e ON e.seq = d.seq
            WHERE d.shard = $1 AND d.person = $2 AND e.id = $3 LIMIT 1
            """,
            .whole(shard),
            .bytes(person),
            .outside(id)
        )
    }
}
