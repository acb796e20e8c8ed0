import Experimentation

/// The cause of an `ErrorCode.store` error if an answer didn't come in time.
///
/// The database may be slow or away, and may have carried out the operation.
package struct LateAnswer: Error {}

/// Why a transaction failed.
indirect enum ConnectionFailure: Error, Sendable {
    /// The server rejected a statement.
    case refused(state: String, message: String)
    /// The connection was lost or couldn't be established.
    case lost(String)
    /// The server didn't answer in time; the connection is closed.
    case late(Duration)
    /// The server can't tell any more whether the transaction was committed.
    case forgotten
    /// The store itself rejected the operation.
    case store(ExperimentationError)
    /// The commit got no answer, and its outcome couldn't be looked up, for this reason.
    case undecided(TransactionMark, because: ConnectionFailure)

    /// Whether an immediate retry may succeed: the transaction conflicted with another one.
    var isCollision: Bool {
        if case .refused(let state, _) = self { return state == "40001" || state == "40P01" }
        return false
    }

    /// Whether the server closed the connection because it is restarting or was told to.
    var isLoss: Bool {
        switch self {
        case .lost: true
        case .refused(let state, _): state.hasPrefix("57P") || state.hasPrefix("08")
        case .late, .forgotten, .store, .undecided: false
        }
    }

    /// The states of statements that the server ended at a time limit.
    ///
    /// The server's limit is the client's own, counted from a moment later. A client that is busy when its time ends
    /// therefore finds the server's refusal instead.
    private static let timeLimits: Set = ["57014", "55P03"]

    /// The error for callers, without any values that were sent.
    var error: ExperimentationError {
        switch self {
        case .refused(let state, let message):
            ExperimentationError(
                .store,
                "PostgreSQL refused a statement (\(state)): \(message)",
                cause: Self.timeLimits.contains(state) ? LateAnswer() : nil
            )
        case .lost(let message): ExperimentationError(.store, "The connection to PostgreSQL was lost: \(message)")
        case .late(let patience):
            ExperimentationError(.store, "PostgreSQL gave no answer within \(patience).", cause: LateAnswer())
        case .forgotten:
            ExperimentationError(
                .store,
                "PostgreSQL recovered from a crash during a commit, and can't tell whether it was carried out."
            )
        case .store(let error): error
        case .undecided(_, let reason): reason.error
        }
    }
}
