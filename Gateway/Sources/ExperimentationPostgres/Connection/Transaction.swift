/// An open transaction, on the thread that owns the connection.
///
/// Each statement sees what was committed before it started, so a check must be a separate statement after the one that
/// takes the lock.
final class Transaction {
    private let connection: Connection
    private let deadline: Deadline
    private var ahead: [Statement]
    private(set) var isCommitting = false
    /// The transaction id, by which the server can later tell whether it was committed; `nil` for a read-only one.
    private(set) var number: Int64?
    private let isWriting: Bool

    init(_ connection: Connection, _ mode: Mode, schema: String, by deadline: Deadline) {
        self.connection = connection
        self.deadline = deadline
        isWriting = mode == .writing
        ahead = [Statement(mode.rawValue)]
        ahead.append(Self.settings(schema: schema, patience: deadline.patience))
    }

    /// The mode of a transaction.
    enum Mode: String, Sendable {
        /// Read-write; if the answer to a commit is lost, its outcome is looked up.
        case writing = "BEGIN ISOLATION LEVEL READ COMMITTED"
        /// Read-only, on a single snapshot.
        case reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    }

    /// Settings for this transaction only, so that a connection pooler in between does no harm.
    ///
    /// Every statement finds its rows by an index; any other plan results from outdated statistics.
    private static func settings(schema: String, patience: Duration) -> Statement {
        let limit = String(Int(patience / .milliseconds(1)))
        return Statement(
            """
            SELECT set_config('search_path', $1, true), set_config('statement_timeout', $2, true),
              set_config('lock_timeout', $2, true), set_config('idle_in_transaction_session_timeout', $2, true),
              set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
              set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)
            """,
            .text(schema),
            .text(limit)
        )
    }

    /// Queues a statement, to be sent with the next ones.
    func later(_ statement: Statement) { ahead.append(statement) }

    /// Sends statements and returns the rows of each.
    func ask(_ statements: Statement...) throws(ConnectionFailure) -> [[Row]] {
        var all = ahead
        let asksNumber = isWriting && number == nil
        if asksNumber { all.append(Statement("SELECT pg_current_xact_id()::text::bigint")) }
        let skipped = all.count
        all += statements
        ahead = []
        let answers = try connection.run(all, by: deadline)
        if asksNumber { number = answers[skipped - 1].first?.whole(0) }
        return Array(answers[skipped...])
    }

    /// Sends a statement and returns its rows.
    func rows(_ statement: Statement) throws(ConnectionFailure) -> [Row] { try ask(statement)[0] }

    /// Commits, sending queued statements first.
    func commit() throws(ConnectionFailure) {
        isCommitting = number != nil
        _ = try connection.run(ahead + [Statement("COMMIT")], by: deadline)
        ahead = []
    }

    /// Rolls back, so that the connection can be used again.
    func rollback() {
        guard connection.isOpen else { return }
        _ = try? connection.run([Statement("ROLLBACK")], by: deadline)
    }
}
