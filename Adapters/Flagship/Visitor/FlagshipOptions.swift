import AdapterKit
import Experimentation

/// What the builder of the original's configuration sets, as one value.
public struct FlagshipOptions: Sendable {
    /// When hits are sent together, and how they are kept until then.
    public struct Tracking: Sendable, Hashable {
        /// How hits are kept in a cache of the application's own.
        public enum Strategy: String, Sendable, Hashable, Codable, CaseIterable {
            /// Each hit when it is made, until it has been sent.
            case continuousCaching = "CONTINUOUS_CACHING"
            /// The whole pool after each batch.
            case periodicCaching = "PERIODIC_CACHING"
        }

        /// How many hits wait at most.
        public var poolMaxSize: Int
        /// How long a hit waits at most.
        public var batchInterval: Duration
        /// How hits are kept in a cache of the application's own.
        public var strategy: Strategy

        /// Creates settings.
        public init(
            poolMaxSize: Int = 10,
            batchInterval: Duration = .seconds(5),
            strategy: Strategy = .continuousCaching
        ) {
            self.poolMaxSize = poolMaxSize
            self.batchInterval = batchInterval
            self.strategy = strategy
        }
    }

    /// Where campaigns are decided.
    public var mode: FlagshipConfiguration.Mode
    /// Whose rules decide in bucketing mode.
    public var rules: FlagshipRules
    /// How long a question for campaigns may take; two seconds unless another time is named.
    public var timeout: Duration
    /// How often the file of all campaigns is asked for; zero for once.
    public var pollingInterval: Duration
    /// How much is logged.
    public var logLevel: FlagshipLogLevel
    /// Told of each change of the status, in order and once.
    public var onStatusChanged: (@Sendable (FlagshipStatus) -> Void)?
    /// When hits are sent together.
    public var tracking: Tracking
    /// Caches of the application's own; the client's store where there are none.
    public var caches: FlagshipCaches
    /// Told of each exposure that the vendor has taken.
    public var onVisitorExposed: FlagshipExposureCallback?
    /// When the reading of a flag counts as an exposure; `ExposurePolicy.everyRead` is the original's habit.
    public var exposurePolicy: ExposurePolicy
    /// The vendor's addresses.
    public var endpoints: FlagshipConfiguration.Endpoints
    /// What every visitor's context says of the device.
    public var device: FlagshipDevice
    /// What the vendor's developers may hear.
    public var reports: FlagshipReports

    /// Creates options; all of them have the original's defaults, but that nothing is reported to the vendor's developers.
    public init(
        mode: FlagshipConfiguration.Mode = .decisionAPI,
        rules: FlagshipRules = .ios,
        timeout: Duration = .seconds(2),
        pollingInterval: Duration = .seconds(60),
        logLevel: FlagshipLogLevel = .all,
        onStatusChanged: (@Sendable (FlagshipStatus) -> Void)? = nil,
        tracking: Tracking = Tracking(),
        caches: FlagshipCaches = FlagshipCaches(),
        onVisitorExposed: FlagshipExposureCallback? = nil,
        exposurePolicy: ExposurePolicy = .oncePerSession,
        endpoints: FlagshipConfiguration.Endpoints = .vendor,
        device: FlagshipDevice = .current,
        reports: FlagshipReports = []
    ) {
        self.mode = mode
        self.rules = rules
        self.timeout = timeout
        self.pollingInterval = pollingInterval
        self.logLevel = logLevel
        self.onStatusChanged = onStatusChanged
        self.tracking = tracking
        self.caches = caches
        self.onVisitorExposed = onVisitorExposed
        self.exposurePolicy = exposurePolicy
        self.endpoints = endpoints
        self.device = device
        self.reports = reports
    }

    func configuration(environmentID: String, apiKey: Secret) -> FlagshipConfiguration {
        FlagshipConfiguration(
            environmentID: environmentID,
            apiKey: apiKey,
            mode: mode,
            rules: rules,
            endpoints: endpoints,
            timeout: timeout,
            pollingInterval: pollingInterval,
            poolSize: tracking.poolMaxSize,
            batchInterval: tracking.batchInterval,
            device: device,
            retry: .none,
            onVisitorExposed: onVisitorExposed,
            reports: reports
        )
    }
}
