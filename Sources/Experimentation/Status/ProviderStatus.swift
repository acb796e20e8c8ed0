/// The status of a provider.
public enum ProviderStatus: String, Sendable, Hashable, Codable {
    /// It has no decisions yet.
    case notReady = "NOT_READY"
    /// It answers.
    case ready = "READY"
    /// Its decisions are overdue; the last good ones are used.
    case stale = "STALE"
    /// It fails; it may recover.
    case error = "ERROR"
    /// It has failed for good.
    case fatal = "FATAL"
    /// The vendor has switched itself off; it may come back.
    case disabled = "DISABLED"
}

/// That something changed with a provider; announced once, in order.
public struct ProviderEvent: Sendable, Equatable {
    /// What changed.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// The provider is ready.
        case ready = "PROVIDER_READY"
        /// The decisions, or the rules behind them, are others now.
        case configurationChanged = "PROVIDER_CONFIGURATION_CHANGED"
        /// The decisions are overdue.
        case stale = "PROVIDER_STALE"
        /// The provider fails.
        case error = "PROVIDER_ERROR"
        /// The provider is fetching.
        case reconciling = "PROVIDER_RECONCILING"
        /// The vendor's kill switch is on.
        case disabled = "PROVIDER_DISABLED"
        /// The store was full and gave up events, for the first time or ten times as many as when this was last said.
        ///
        /// The status stays as it is, and late observers aren't told; ``ProviderEvent/error`` says how many.
        case eventsDropped = "EVENTS_DROPPED"
    }

    /// What changed.
    public var kind: Kind
    /// The status from now on.
    public var status: ProviderStatus
    /// What went wrong, for ``Kind/error``.
    public var error: ExperimentationError?

    /// Creates an event.
    public init(_ kind: Kind, status: ProviderStatus, error: ExperimentationError? = nil) {
        self.kind = kind
        self.status = status
        self.error = error
    }
}
