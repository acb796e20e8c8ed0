/// A vendor that announces when its decisions have changed.
///
/// A notice carries no decisions: the client asks for them again.
public protocol ChangeSource: Sendable {
    /// The vendor's notices from now on.
    ///
    /// The client calls this once. Whatever it opens is closed when the client no longer listens.
    func notices() -> AsyncStream<ChangeNotice>

    /// Called when the application enters the foreground or leaves it.
    ///
    /// In the background the application needs no changes: connections may be closed for that time, and a missed change
    /// is announced when the application is back. A source that wraps others passes it on to them.
    func setApplicationState(_ applicationState: ApplicationState)
}

/// A vendor's notice of changes.
public enum ChangeNotice: Sendable, Equatable {
    /// Decisions may have changed: the client asks again, for every session in use.
    case changed
    /// Changes can no longer be received: current decisions count as ``Reason/stale`` until there is a new answer.
    case unheard(ExperimentationError)
}
