import AdapterKit
import Experimentation

/// The settings of Flagship's adapter.
///
/// ```swift
/// let configuration = FlagshipConfiguration(environmentID: "bkk9glocmjcg0vtmdlng", apiKey: "key", mode: .bucketing)
/// ```
public struct FlagshipConfiguration: Sendable {
    /// Where campaigns are decided.
    public enum Mode: String, Sendable, Hashable, Codable, CaseIterable {
        /// By the vendor, which the adapter asks for each visitor.
        case decisionAPI
        /// On this device, from a file of all campaigns.
        case bucketing
    }

    /// The vendor's addresses.
    public struct Endpoints: Sendable, Hashable {
        /// The Decision API, including its version.
        public var decision: Endpoint
        /// The location of the file of all campaigns.
        public var cdn: Endpoint
        /// The hit collector.
        public var events: Endpoint

        /// Creates addresses.
        public init(decision: Endpoint, cdn: Endpoint, events: Endpoint) {
            self.decision = decision
            self.cdn = cdn
            self.events = events
        }

        /// The vendor's own addresses.
        public static let vendor = Endpoints(
            decision: Endpoint(https: "decision.flagship.io", path: "/v2"),
            cdn: Endpoint(https: "cdn.flagship.io"),
            events: Endpoint(https: "events.flagship.io")
        )
    }

    /// The environment: 20 characters from `0` to `9` and `a` to `v`; any other form is logged as a warning.
    public var environmentID: String
    /// The key of the Decision API.
    public var apiKey: Secret
    /// Where campaigns are decided.
    public var mode: Mode
    /// The rules that decide in ``Mode/bucketing``.
    public var rules: FlagshipRules
    /// The vendor's addresses.
    public var endpoints: Endpoints
    /// The time limit for a request for campaigns, including retries.
    public var timeout: Duration
    /// The time limit for fetching the file of all campaigns, or for delivering events.
    public var transferTimeout: Duration
    /// How often to request the file of all campaigns; zero for once.
    public var pollingInterval: Duration
    /// The number of waiting events that starts a delivery, and the most that go into one.
    public var poolSize: Int
    /// How long an event may wait.
    public var batchInterval: Duration
    /// The maximum age of an event at its delivery.
    public var maximumAge: Duration
    /// The device's part of every visitor's context.
    public var device: FlagshipDevice
    /// How to retry a failed request for campaigns, within its time limit; only the client's outbox retries events.
    public var retry: HTTPRetry
    /// Called once for each flag that a visitor sees because of a variation, after the vendor has accepted the
    /// variation's exposure; with `ExposurePolicy.everyRead`, once for each read.
    public var onVisitorExposed: FlagshipExposureCallback?
    /// The reports that may go to the vendor's developers.
    public var reports: FlagshipReports

    /// Creates settings; each property's documentation describes one.
    public init(
        environmentID: String,
        apiKey: Secret,
        mode: Mode = .decisionAPI,
        rules: FlagshipRules = .ios,
        endpoints: Endpoints = .vendor,
        timeout: Duration = .seconds(2),
        transferTimeout: Duration = .seconds(60),
        pollingInterval: Duration = .seconds(60),
        poolSize: Int = 10,
        batchInterval: Duration = .seconds(5),
        maximumAge: Duration = FlagshipConfiguration.oldestHit,
        device: FlagshipDevice = .current,
        retry: HTTPRetry = HTTPRetry(attempts: 2),
        onVisitorExposed: FlagshipExposureCallback? = nil,
        reports: FlagshipReports = []
    ) {
        self.environmentID = environmentID
        self.apiKey = apiKey
        self.mode = mode
        self.rules = rules
        self.endpoints = endpoints
        self.timeout = timeout
        self.transferTimeout = transferTimeout
        self.pollingInterval = pollingInterval
        self.poolSize = poolSize
        self.batchInterval = batchInterval
        self.maximumAge = maximumAge
        self.device = device
        self.retry = retry
        self.onVisitorExposed = onVisitorExposed
        self.reports = reports
    }

    /// Four hours: the vendor's SDKs drop older hits.
    public static let oldestHit = Duration.seconds(14_400)
}

extension FlagshipConfiguration {
    /// The limits of all requests except those for campaigns.
    var transferLimits: HTTPLimits { HTTPLimits(deadline: transferTimeout) }

    /// Whether an environment's id has the vendor's usual form.
    static func isUsual(_ environmentID: String) -> Bool {
        environmentID.utf8.count == 20
            && environmentID.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x76).contains($0) }
    }

    /// Checks for settings that can't work.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the setting.
    func validate() throws(ExperimentationError) {
        func refuse(_ text: String) -> ExperimentationError {
            ExperimentationError(.configuration, "Flagship: \(text)")
        }
        if environmentID.isEmpty { throw refuse("environmentID is empty") }
        if apiKey.reveal().isEmpty { throw refuse("apiKey is empty") }
        if timeout <= .zero { throw refuse("timeout must be greater than zero") }
        if transferTimeout <= .zero { throw refuse("transferTimeout must be greater than zero") }
        if pollingInterval < .zero { throw refuse("pollingInterval must not be negative") }
        if batchInterval <= .zero { throw refuse("batchInterval must be greater than zero") }
        if maximumAge < .zero { throw refuse("maximumAge must not be negative") }
        if poolSize < 1 { throw refuse("poolSize must be 1 or more") }
        if retry.attempts < 1 { throw refuse("a question must be asked once at least") }
    }
}
