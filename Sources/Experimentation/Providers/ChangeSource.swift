/// A vendor that tells when what it decides has changed.
///
/// It carries no decisions: the client asks for them again.
public protocol ChangeSource: Sendable {
    /// What the vendor tells from now on.
    ///
    /// The client asks for it once. Whatever is open for it is closed when the client no longer listens.
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

/// What a vendor tells of changes.
public enum ChangeNotice: Sendable, Equatable {
    /// What it decides may have changed: the client asks again, for every session in use.
    case changed
    /// Changes can't be heard of any more: what is at hand counts as ``Reason/stale``, until there is a new answer.
    case unheard(ExperimentationError)
}
