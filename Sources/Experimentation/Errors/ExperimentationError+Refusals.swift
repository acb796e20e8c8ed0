extension ExperimentationError {
    /// The error for an event of a user who denies consent.
    package static let consentDenied = ExperimentationError(
        .consentDenied,
        "The user has denied consent; the event was not accepted."
    )

    /// The error for an event without a destination.
    package static let owedToNobody = ExperimentationError(.invalidArgument, "The event is owed to no destination.")

    /// The error for a statement after the client's end.
    static let shutDown = ExperimentationError(.shutDown, "The client has been shut down.")
}
