/// A vendor that announces when its decisions have changed.
///
/// A notice carries no decisions: the client asks for them again.
public protocol ChangeSource: Sendable {
    /// The vendor's notices from now on.
    ///
    /// The client calls this once. Whatever it opens is closed when the client no longer listens.
    func notices() -> AsyncStream<ChangeNotice>

    /// Hears whether the application is in front of its user; does nothing unless the provider says otherwise.
    ///
    /// One in the background need not be told of changes: what is open may be closed for that time, and the change that was
    /// missed is told when the application is back.
    func setApplicationState(_ applicationState: ApplicationState)
}

extension ChangeSource {
    /// Does nothing.
    public func setApplicationState(_ applicationState: ApplicationState) {}
}

/// A vendor's notice of changes.
public enum ChangeNotice: Sendable, Equatable {
    /// Decisions may have changed: the client asks again, for every session in use.
    case changed
    /// Changes can no longer be received: current decisions count as ``Reason/stale`` until there is a new answer.
    case unheard(ExperimentationError)
}
