import AdapterKit
import Experimentation

/// The settings of the original SDK's configuration builder, as one value.
public struct FlagshipOptions: Sendable {
    /// When hits are batched, and how they are kept until then.
    public struct Tracking: Sendable, Hashable {
        /// How hits are kept in the application's own cache.
        public enum Strategy: String, Sendable, Hashable, Codable, CaseIterable {
            /// Each hit, from its creation until it has been sent.
            case continuousCaching = "CONTINUOUS_CACHING"
            /// The whole pool, after each batch.
            case periodicCaching = "PERIODIC_CACHING"
        }

        /// The number of waiting hits that starts a batch, and the most that go into one.
        public var poolMaxSize: Int
        /// How long a hit may wait.
        public var batchInterval: Duration
        /// How hits are kept in the application's own cache.
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
    /// The rules that decide in bucketing mode.
    public var rules: FlagshipRules
    /// The time limit for a request for campaigns, and in bucketing mode for a fetch that waits for the first file; two
    /// seconds by default.
    public var timeout: Duration
    /// How often to request the file of all campaigns; zero for once.
    public var pollingInterval: Duration
    /// The log level.
    public var logLevel: FlagshipLogLevel
    /// Called with each change of the status, in order and once.
    public var onStatusChanged: (@Sendable (FlagshipStatus) -> Void)?
    /// When hits are batched.
    public var tracking: Tracking
    /// The application's own caches; the client's store by default.
    public var caches: FlagshipCaches
    /// Called once for each flag that a visitor sees because of a variation, after the vendor has accepted the
    /// variation's exposure; with `ExposurePolicy.everyRead`, once for each read.
    public var onVisitorExposed: FlagshipExposureCallback?
    /// When reading a flag counts as an exposure; `ExposurePolicy.everyRead` is the original SDK's behavior.
    public var exposurePolicy: ExposurePolicy
    /// The vendor's addresses.
    public var endpoints: FlagshipConfiguration.Endpoints
    /// The device's part of every visitor's context.
    public var device: FlagshipDevice
    /// The reports that may go to the vendor's developers.
    public var reports: FlagshipReports

    /// Creates options with the original SDK's defaults, except that no reports go to the vendor's developers.
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
