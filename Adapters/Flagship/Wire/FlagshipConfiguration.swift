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
        /// By the vendor, who is asked for each visitor.
        case decisionAPI
        /// Here, from a file of all campaigns.
        case bucketing
    }

    /// The vendor's addresses.
    public struct Endpoints: Sendable, Hashable {
        /// The Decision API, its version included.
        public var decision: Endpoint
        /// Where the file of all campaigns lies.
        public var cdn: Endpoint
        /// The collector of hits.
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

    /// The environment: 20 characters from `0` to `9` and `a` to `v`; another form is logged as a warning.
    public var environmentID: String
    /// The key of the Decision API.
    public var apiKey: Secret
    /// Where campaigns are decided.
    public var mode: Mode
    /// Whose rules decide in ``Mode/bucketing``.
    public var rules: FlagshipRules
    /// The vendor's addresses.
    public var endpoints: Endpoints
    /// How long one question for campaigns may take, retries included.
    public var timeout: Duration
    /// How long fetching the file of all campaigns, or delivering events, may take.
    public var transferTimeout: Duration
    /// How often the file of all campaigns is asked for; zero for once.
    public var pollingInterval: Duration
    /// How many events wait, and go into one delivery, at most.
    public var poolSize: Int
    /// How long an event waits at most.
    public var batchInterval: Duration
    /// How old an event may be when it is delivered.
    public var maximumAge: Duration
    /// What every visitor's context says of the device.
    public var device: FlagshipDevice
    /// How a question is repeated that failed, within its time; events are repeated by the client's outbox alone.
    public var retry: HTTPRetry
    /// Told of each exposure that the vendor has taken.
    public var onVisitorExposed: FlagshipExposureCallback?
    /// What the vendor's developers may hear.
    public var reports: FlagshipReports

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - environmentID: The environment.
    ///   - apiKey: The key of the Decision API.
    ///   - mode: Where campaigns are decided.
    ///   - rules: Whose rules decide in ``Mode/bucketing``.
    ///   - endpoints: The vendor's addresses.
    ///   - timeout: How long one question for campaigns may take.
    ///   - transferTimeout: How long fetching the file of all campaigns, or delivering events, may take.
    ///   - pollingInterval: How often the file of all campaigns is asked for; zero for once.
    ///   - poolSize: How many events wait at most, from 1 on.
    ///   - batchInterval: How long an event waits at most.
    ///   - maximumAge: How old an event may be when it is delivered.
    ///   - device: What every visitor's context says of the device.
    ///   - retry: How a question is repeated that failed, within its time.
    ///   - onVisitorExposed: Told of each exposure that the vendor has taken.
    ///   - reports: What the vendor's developers may hear; nothing unless it is named.
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

    /// Four hours: what is older the vendor's SDKs give up.
    public static let oldestHit = Duration.seconds(14_400)
}

extension FlagshipConfiguration {
    /// Whether the environment's id has the form that the vendor gives out.
    var hasUsualEnvironmentID: Bool { Self.isUsual(environmentID) }

    /// Whether an environment's id has the form that the vendor gives out.
    static func isUsual(_ environmentID: String) -> Bool {
        environmentID.utf8.count == 20
            && environmentID.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x76).contains($0) }
    }

    /// Checks what can't work.
    ///
    /// - Throws: ``ErrorCode/configuration`` naming the setting.
    func validate() throws(ExperimentationError) {
        func refuse(_ text: String) -> ExperimentationError {
            ExperimentationError(.configuration, "Flagship: \(text)")
        }
        if environmentID.isEmpty { throw refuse("environmentID is empty") }
        if apiKey.reveal().isEmpty { throw refuse("apiKey is empty") }
        if timeout <= .zero { throw refuse("timeout must be more than nothing") }
        if transferTimeout <= .zero { throw refuse("transferTimeout must be more than nothing") }
        if pollingInterval < .zero { throw refuse("pollingInterval must not be negative") }
        if batchInterval <= .zero { throw refuse("batchInterval must be more than nothing") }
        if poolSize < 1 { throw refuse("poolSize must be 1 or more") }
        if retry.attempts < 1 { throw refuse("a question must be asked once at least") }
    }
}
