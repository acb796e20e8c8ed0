import AdapterKit
import Experimentation
import HTTPTypes

/// Where to get a project's configuration, how long it is valid, and the device's properties.
///
/// ```swift
/// let configuration = SigmaConfiguration(projectToken: "token", cacheLifetime: .seconds(60))
/// ```
public struct SigmaConfiguration: Sendable {
    /// The vendor's own address.
    public static let vendorEndpoint = Endpoint(https: "api.expf.ru", path: "/api/v1")
    /// The minimum validity of a configuration, whatever was requested.
    public static let shortestLifetime = Duration.seconds(10)
    /// The maximum, so that no sum of times overflows: a hundred years.
    public static let longestLifetime = Duration.seconds(3_153_600_000)
    /// The maximum time limit of one attempt: a day.
    static let longestTimeout = Duration.seconds(86_400)
    /// The maximum number of retries, whatever was requested: there is no wait between them.
    public static let mostRetries = 100

    /// The project's token.
    public var projectToken: Secret

    /// The base address.
    public var endpoint: Endpoint

    /// How long a configuration is valid; from ten seconds to a hundred years.
    public var cacheLifetime: Duration {
        didSet { cacheLifetime = Self.lifetime(cacheLifetime) }
    }

    /// How many immediate retries follow a failed attempt; from 0 to 100.
    public var retryCount: Int {
        didSet { retryCount = min(max(retryCount, 0), Self.mostRetries) }
    }

    /// The time limit of one attempt; below half a second it is 60 seconds, at most a day.
    public var fetchTimeout: Duration {
        didSet { fetchTimeout = Self.timeout(fetchTimeout) }
    }

    /// What a read returns once the configuration has expired.
    ///
    /// By default it is the last good value with reason `STALE`. The vendor's own SDK then returns nothing, which is
    /// `Freshness.AfterExpiry.notReady`.
    public var afterExpiry: Freshness.AfterExpiry = .stale

    /// Whether to ask the service for the location of this address, if the configuration needs it.
    ///
    /// Turn it off on a server: the address is the server's, not the user's.
    public var asksForPlace = true

    /// Identifies this installation to the service, in the field `user-id`; generated for each provider if `nil`.
    public var privateID: String?

    /// The device's properties, used where the user has no attribute.
    public var device: SigmaDevice

    /// The formula for a user's position in a draw; replace it if you know the vendor's.
    public var bucketing = SigmaBucketing.inferred

    /// The assumptions about undocumented behavior of the vendor.
    public var assumptions = SigmaAssumptions()

    /// Creates a configuration; a value out of its range counts as the nearest one, or as the default.
    public init(
        projectToken: Secret,
        endpoint: Endpoint = vendorEndpoint,
        cacheLifetime: Duration = shortestLifetime,
        retryCount: Int = 0,
        fetchTimeout: Duration = .seconds(60),
        device: SigmaDevice = .current
    ) {
        self.projectToken = projectToken
        self.endpoint = endpoint
        self.cacheLifetime = Self.lifetime(cacheLifetime)
        self.retryCount = min(max(retryCount, 0), Self.mostRetries)
        self.fetchTimeout = Self.timeout(fetchTimeout)
        self.device = device
    }

    /// Refuses a token or an installation's id that can't be sent.
    func validate() throws(ExperimentationError) {
        guard hasUsableToken else {
            throw ExperimentationError(.configuration, "Sigma: the project token is empty or can't be sent.")
        }
        if let privateID, privateID.isEmpty || !HTTPField.isValidValue(privateID) {
            throw ExperimentationError(.configuration, "Sigma: the private id is empty or can't be sent.")
        }
    }

    /// Whether the token is valid in a request.
    var hasUsableToken: Bool { !projectToken.isEmpty && HTTPField.isValidValue(projectToken.reveal()) }

    static func lifetime(_ asked: Duration) -> Duration { min(max(asked, shortestLifetime), longestLifetime) }

    static func timeout(_ asked: Duration) -> Duration {
        asked < .milliseconds(500) ? .seconds(60) : min(asked, longestTimeout)
    }
}
