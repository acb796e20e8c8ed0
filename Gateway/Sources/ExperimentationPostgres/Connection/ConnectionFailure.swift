import Experimentation

/// Why a transaction wasn't carried out.
enum ConnectionFailure: Error, Sendable {
    /// The server refused a statement.
    case refused(state: String, message: String)
    /// The connection was lost, or none could be made.
    case lost(String)
    /// There was no answer in time; the connection is given up.
    case late(Duration)
    /// The store says no.
    case store(ExperimentationError)

    /// Whether the same transaction may well succeed at once: it was in another's way.
    var isCollision: Bool {
        if case .refused(let state, _) = self { return state == "40001" || state == "40P01" }
        return false
    }

    /// Whether the server ended the connection: it restarts, or was told to.
    var isLoss: Bool {
        switch self {
        case .lost: true
        case .refused(let state, _): state.hasPrefix("57P") || state.hasPrefix("08")
        case .late, .store: false
        }
    }

    /// The error as callers see it, without any value that was sent.
    var error: ExperimentationError {
        switch self {
        case .refused(let state, let message):
            ExperimentationError(.store, "PostgreSQL refused a statement (\(state)): \(message)")
        case .lost(let message): ExperimentationError(.store, "The connection to PostgreSQL was lost: \(message)")
        case .late(let patience):
            ExperimentationError(.store, "PostgreSQL gave no answer within \(patience).")
        case .store(let error): error
        }
    }
}
