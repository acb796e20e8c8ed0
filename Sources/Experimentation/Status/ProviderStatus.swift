/// The status of a provider.
public enum ProviderStatus: String, Sendable, Hashable, Codable {
    /// It has no decisions yet.
    case notReady = "NOT_READY"
    /// It has valid decisions.
    case ready = "READY"
    /// Its decisions may be out of date: the last fetch failed, the vendor can't announce changes any more, or the
    /// decisions of an earlier run have expired.
    case stale = "STALE"
    /// It fails, but may recover.
    case error = "ERROR"
    /// It has failed permanently.
    case fatal = "FATAL"
    /// The vendor's kill switch is on; it may be lifted.
    case disabled = "DISABLED"
}

/// A change of a provider's state; announced once, in order.
public struct ProviderEvent: Sendable, Equatable {
    /// The kinds of changes.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// The provider is ready.
        case ready = "PROVIDER_READY"
        /// The decisions, or the rules behind them, have changed.
        ///
        /// The status doesn't change, and late observers aren't told.
        case configurationChanged = "PROVIDER_CONFIGURATION_CHANGED"
        /// The decisions may be out of date.
        case stale = "PROVIDER_STALE"
        /// The provider fails.
        case error = "PROVIDER_ERROR"
        /// The provider is fetching.
        case reconciling = "PROVIDER_RECONCILING"
        /// The vendor's kill switch is on.
        case disabled = "PROVIDER_DISABLED"
        /// The full store dropped events, for the first time or ten times as many as at the last announcement.
        ///
        /// The status doesn't change, and late observers aren't told; ``ProviderEvent/error`` says how many.
        case eventsDropped = "EVENTS_DROPPED"
    }

    /// What changed.
    public var kind: Kind
    /// The status from now on.
    public var status: ProviderStatus
    /// The error, for ``Kind/error`` and ``Kind/eventsDropped``, and for ``Kind/stale`` after a failure.
    public var error: ExperimentationError?

    /// Creates an event.
    public init(_ kind: Kind, status: ProviderStatus, error: ExperimentationError? = nil) {
        self.kind = kind
        self.status = status
        self.error = error
    }
}
