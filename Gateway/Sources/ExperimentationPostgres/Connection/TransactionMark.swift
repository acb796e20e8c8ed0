/// Identifies a transaction, to look it up if the answer to its commit is lost.
///
/// The id alone isn't enough: if the transaction never reached the disk, its id is assigned again after a crash. So the
/// mark also contains the word of the `incarnation` table. The table is unlogged: PostgreSQL empties it when it
/// recovers from a crash or becomes a primary, and keeps it when it is shut down.
struct TransactionMark: Sendable, Equatable {
    let number: Int64
    /// The word when the transaction began; `nil` if the server had none yet after a crash.
    let word: [UInt8]?

    /// What became of a transaction.
    enum Outcome: Sendable, Equatable {
        case committed, absent, open, unknown
    }

    /// Takes an id and reads the word.
    static let begin = Statement("SELECT pg_current_xact_id()::text::bigint, (SELECT word FROM incarnation)")

    init(number: Int64, word: [UInt8]?) {
        (self.number, self.word) = (number, word)
    }

    init(_ row: Row) { self.init(number: row.whole(0), word: row.cells[1]) }

    /// Asks the server for the state of this id, and for the current word.
    private func look(in schema: String) -> Statement {
        Statement(
            "SELECT pg_xact_status($1::text::xid8), (SELECT word FROM \"\(schema)\".incarnation)",
            .text(String(number))
        )
    }

    /// Sets a new word if there is none.
    static func fill(in schema: String) -> Statement {
        Statement("INSERT INTO \"\(schema)\".incarnation (word) VALUES (gen_random_uuid()) ON CONFLICT DO NOTHING")
    }

    /// Asks the server for the outcome of this transaction.
    ///
    /// - Parameters:
    ///   - schema: The schema that contains the current word.
    ///   - ask: Sends the statement.
    /// - Returns: The outcome, as far as the server knows it.
    /// - Throws: What `ask` throws.
    func outcome(
        in schema: String,
        _ ask: (Statement) throws(ConnectionFailure) -> [Row]
    ) throws(ConnectionFailure) -> Outcome {
        do throws(ConnectionFailure) {
            let row = try ask(look(in: schema)).first
            return outcome(row?.outside(0), word: row?.cells[1])
        } catch {
            // The server has yet to assign this id, as after a crash: no commit of the id is on the disk.
            if case .refused("22023", _) = error { return .absent }
            throw error
        }
    }

    /// The outcome of this transaction, according to its state and the current word.
    ///
    /// Only `committed` needs the word: without it, the id may be another transaction's. `aborted` is true either way,
    /// because the id of a commit that is on the disk is never reported as aborted or assigned again.
    func outcome(_ status: String?, word present: [UInt8]?) -> Outcome {
        switch status {
        case "committed": word != nil && word == present ? .committed : .unknown
        case "aborted": .absent
        case "in progress": .open
        default: .unknown
        }
    }
}
