import Foundation

/// A thread's connection, and the transactions on it.
final class Worker {
    private let address: PostgresAddress
    private let schema: String
    private var connection: Connection?

    /// The maximum number of attempts at a transaction.
    private static let attempts = 5

    init(to address: PostgresAddress, schema: String) {
        self.address = address
        self.schema = schema
    }

    /// Runs a transaction by a deadline.
    ///
    /// - Parameters:
    ///   - mode: The mode of the transaction.
    ///   - deadline: When to give up.
    ///   - patience: How long connecting may take, and how long the server keeps the locks of a client that has
    ///     disappeared.
    ///   - body: The transaction.
    /// - Returns: The result of `body`, or why there is none.
    func transaction<Value>(
        _ mode: Transaction.Mode,
        by deadline: Deadline,
        patience: Duration,
        _ body: (Transaction) throws(ConnectionFailure) -> Value
    ) -> Result<Value, ConnectionFailure> {
        var attempt = 1
        var connecting = deadline.atMost(patience)
        while true {
            if deadline.isOver { return .failure(.late(deadline.patience)) }
            var transaction: Transaction?
            do throws(ConnectionFailure) {
                let connection = try opened(by: connecting)
                let begun = Transaction(connection, mode, schema: schema, by: deadline, patience: patience)
                transaction = begun
                let value = try body(begun)
                do throws(ConnectionFailure) { try begun.commit() } catch {
                    guard let mark = begun.mark, !connection.isOpen else { throw error }
                    // The client doesn't know the outcome, but the server does.
                    guard try hasCommitted(mark, by: deadline) else { throw .lost("at the end of a transaction") }
                }
                if let mark = begun.mark, mark.word == nil { fillWord(by: deadline) }
                return .success(value)
            } catch {
                if connection?.isOpen == true, !error.isLoss { transaction?.rollback() } else { connection = nil }
                // Attempts to connect share one time limit; after a lost connection, it begins anew.
                if transaction != nil { connecting = deadline.atMost(patience) }
                guard error.isCollision || error.isLoss, attempt < Self.attempts, !deadline.isOver else {
                    return .failure(error)
                }
                // A restarting server rejects connections immediately, so retries are delayed; the first one isn't, as
                // the server may be up already.
                if error.isLoss, attempt > 1 { Thread.sleep(forTimeInterval: 0.05 * Double(attempt)) }
                attempt += 1
            }
        }
    }

    private func opened(by deadline: Deadline) throws(ConnectionFailure) -> Connection {
        if let connection, connection.isOpen { return connection }
        let new = try Connection.opened(to: address, by: deadline)
        connection = new
        return new
    }

    /// Gives the server a word after a crash; without one, the outcome of a commit can't be looked up.
    ///
    /// Not done within the transaction, because others would wait for it, and might deadlock.
    private func fillWord(by deadline: Deadline) {
        guard let connection, connection.isOpen else { return }
        _ = try? connection.run([TransactionMark.fill(in: schema)], by: deadline)
    }

    /// Looks up whether a transaction was committed.
    ///
    /// - Throws: ``ConnectionFailure/undecided(_:because:)``.
    private func hasCommitted(_ mark: TransactionMark, by deadline: Deadline) throws(ConnectionFailure) -> Bool {
        do throws(ConnectionFailure) { return try isCommitted(mark, by: deadline) } catch {
            throw .undecided(mark, because: error)
        }
    }

    /// Looks up on a new connection whether a transaction was committed.
    private func isCommitted(_ mark: TransactionMark, by deadline: Deadline) throws(ConnectionFailure) -> Bool {
        connection = nil
        while true {
            var outcome = TransactionMark.Outcome.open
            do throws(ConnectionFailure) {
                let connection = try opened(by: deadline)
                outcome = try mark.outcome(in: schema) { statement throws(ConnectionFailure) in
                    try connection.run([statement], by: deadline)[0]
                }
            } catch {
                connection = nil
                // A restarting server can't be asked, and beginning anew might carry the transaction out twice.
                guard error.isLoss else { throw error }
            }
            switch outcome {
            case .committed: return true
            case .absent: return false
            case .unknown: throw .forgotten
            case .open:
                if deadline.isOver { throw .late(deadline.patience) }
                Thread.sleep(forTimeInterval: 0.02)
            }
        }
    }
}
