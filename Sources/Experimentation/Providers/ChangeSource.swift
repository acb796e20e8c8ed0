/// A vendor that tells when what it decides has changed.
///
/// It carries no decisions: the client asks for them again.
public protocol ChangeSource: Sendable {
    /// What the vendor tells from now on.
    ///
    /// The client asks for it once. Whatever is open for it is closed when the client no longer listens.
    func notices() -> AsyncStream<ChangeNotice>
}

/// What a vendor tells of changes.
public enum ChangeNotice: Sendable, Equatable {
    /// What it decides may have changed: the client asks again, for every session in use.
    case changed
    /// Changes can't be heard of any more: what is at hand counts as ``Reason/stale``, until there is a new answer.
    case unheard(ExperimentationError)
}
