/// An open transaction, on the thread that owns the connection.
///
/// Each statement sees only what was committed before it started, so a check must be a separate statement after the one
/// that takes the lock.
final class Transaction {
    private let connection: Connection
    private let deadline: Deadline
    private var ahead: [Statement]
    /// What the server needs to tell later whether the transaction was committed; `nil` before the first answer, and in
    /// modes that don't look it up.
    private(set) var mark: TransactionMark?
    private let isMarked: Bool

    init(_ connection: Connection, _ mode: Mode, schema: String, by deadline: Deadline, patience: Duration) {
        self.connection = connection
        self.deadline = deadline
        isMarked = mode == .writing
        ahead = [Statement(mode.begin)]
        ahead.append(Self.settings(schema: schema, limit: deadline.patience, idle: patience))
    }

    /// The mode of a transaction.
    enum Mode: Sendable {
        /// Read-write; if the answer to a commit is lost, its outcome is looked up.
        case writing
        /// Read-write, and safe to repeat, so that no outcome is looked up; needs no tables.
        case repeatable
        /// Read-only, on a single snapshot.
        case reading

        fileprivate var begin: String {
            switch self {
            case .writing, .repeatable: "BEGIN ISOLATION LEVEL READ COMMITTED"
            case .reading: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            }
        }
    }

    /// Settings for this transaction only, so that a connection pooler in between does no harm.
    ///
    /// Every statement can find its rows by an index; any other plan would result from outdated statistics.
    private static func settings(schema: String, limit: Duration, idle: Duration) -> Statement {
        func text(_ duration: Duration) -> String { String(Int(duration / .milliseconds(1))) }
        return Statement(
            """
            SELECT set_config('search_path', $1, true), set_config('statement_timeout', $2, true),
              set_config('lock_timeout', $2, true), set_config('idle_in_transaction_session_timeout', $3, true),
              set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
              set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)
            """,
            .text(schema),
            .text(text(limit)),
            .text(text(idle))
        )
    }

    /// Queues a statement, to be sent with the next ones.
    func later(_ statement: Statement) { ahead.append(statement) }

    /// Sends statements and returns the rows of each.
    func ask(_ statements: Statement...) throws(ConnectionFailure) -> [[Row]] {
        var all = ahead
        let asksMark = isMarked && mark == nil
        if asksMark { all.append(TransactionMark.begin) }
        let skipped = all.count
        all += statements
        ahead = []
        let answers = try connection.run(all, by: deadline)
        if asksMark { mark = answers[skipped - 1].first.map(TransactionMark.init) }
        return Array(answers[skipped...])
    }

    /// Sends a statement and returns its rows.
    func rows(_ statement: Statement) throws(ConnectionFailure) -> [Row] { try ask(statement)[0] }

    /// Commits, sending queued statements first.
    func commit() throws(ConnectionFailure) {
        _ = try connection.run(ahead + [Statement("COMMIT")], by: deadline)
        ahead = []
    }

    /// Rolls back, so that the connection can be used again.
    func rollback() {
        guard connection.isOpen else { return }
        _ = try? connection.run([Statement("ROLLBACK")], by: deadline)
    }
}
