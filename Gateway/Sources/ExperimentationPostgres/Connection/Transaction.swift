/// A transaction under way, on the thread that has the connection.
///
/// Every statement sees what was committed before it began, and no earlier: a check is a statement of its own behind the
/// one that takes the lock.
final class Transaction {
    private let connection: Connection
    private let deadline: Deadline
    private var ahead: [Statement]
    private(set) var isCommitting = false
    /// The number by which the server can tell later whether this was committed; `nil` for one that only reads.
    private(set) var number: Int64?
    private let isWriting: Bool

    init(_ connection: Connection, _ mode: Mode, schema: String, by deadline: Deadline) {
        self.connection = connection
        self.deadline = deadline
        isWriting = mode == .writing
        ahead = [Statement(mode.rawValue)]
        ahead.append(Self.settings(schema: schema, patience: deadline.patience))
    }

    /// What a transaction is for.
    enum Mode: String, Sendable {
        /// Changes something, and learns of a lost commit whether it was one.
        case writing = "BEGIN ISOLATION LEVEL READ COMMITTED"
        /// Sees one moment of the whole.
        case reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    }

    /// Settings for this transaction alone, so that a pooler between us and the server does no harm.
    ///
    /// Every statement finds its rows by an index; a plan that doesn't comes of statistics that are out of date.
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

    /// Sends a statement with those that follow.
    func later(_ statement: Statement) { ahead.append(statement) }

    /// Sends statements and gives what comes of each.
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

    /// Asks one statement.
    func rows(_ statement: Statement) throws(ConnectionFailure) -> [Row] { try ask(statement)[0] }

    /// Commits, with what was to be sent later.
    func commit() throws(ConnectionFailure) {
        isCommitting = number != nil
        _ = try connection.run(ahead + [Statement("COMMIT")], by: deadline)
        ahead = []
    }

    /// Gives up what was begun, so that the connection can be used again.
    func rollback() {
        guard connection.isOpen else { return }
        _ = try? connection.run([Statement("ROLLBACK")], by: deadline)
    }
}
