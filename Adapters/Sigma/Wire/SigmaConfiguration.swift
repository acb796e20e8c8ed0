import AdapterKit
import Experimentation
import HTTPTypes

/// Where a project's configuration comes from, how long it is good, and what is known of the device.
///
/// ```swift
/// let configuration = SigmaConfiguration(projectToken: "token", cacheLifetime: .seconds(60))
/// ```
public struct SigmaConfiguration: Sendable {
    /// The vendor's own address.
    public static let vendorEndpoint = Endpoint(https: "api.expf.ru", path: "/api/v1")
    /// The shortest time for which a configuration is good, whatever was asked for.
    public static let shortestLifetime = Duration.seconds(10)
    /// The longest, so that no sum of times overflows: a hundred years.
    public static let longestLifetime = Duration.seconds(3_153_600_000)
    /// How many further attempts there are at most, whatever was asked for: nothing waits between them.
    public static let mostRetries = 100

    /// The token of the project.
    public var projectToken: Secret

    /// The base address.
    public var endpoint: Endpoint

    /// How long a configuration is good; from ten seconds to a hundred years.
    public var cacheLifetime: Duration {
        didSet { cacheLifetime = Self.lifetime(cacheLifetime) }
    }

    /// How many further attempts follow a failed one, at once; from 0 to 100.
    public var retryCount: Int {
        didSet { retryCount = min(max(retryCount, 0), Self.mostRetries) }
    }

    /// How long one attempt may take; below half a second it is 60 seconds, at most a day.
    public var fetchTimeout: Duration {
        didSet { fetchTimeout = Self.timeout(fetchTimeout) }
    }

    /// What a read gives when the configuration is overdue.
    ///
    /// By default it is the last good value with reason `STALE`. The vendor's own SDK gives nothing then, which is
    /// `Freshness.AfterExpiry.notReady`.
    public var afterExpiry: Freshness.AfterExpiry = .stale

    /// Whether to ask the service for the place of this address, where the configuration wants it.
    ///
    /// Turn it off on a server: the address is the server's, not the user's.
    public var asksForPlace = true

    /// Names this installation to the service, in the field `user-id`; drawn anew for each provider if `nil`.
    public var privateID: String?

    /// What is known of the device without the user's attributes.
    public var device: SigmaDevice

    /// A user's position in a draw; replace it if you know the vendor's formula.
    public var bucketing = SigmaBucketing.inferred

    /// The answers to what the vendor hasn't documented.
    public var assumptions = SigmaAssumptions()

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - projectToken: The token of the project, from the vendor's console.
    ///   - endpoint: The base address.
    ///   - cacheLifetime: How long a configuration is good; never under ten seconds.
    ///   - retryCount: How many further attempts follow a failed one.
    ///   - fetchTimeout: How long one attempt may take.
    ///   - device: What is known of the device.
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

    /// Checks the settings.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a token that can't be sent.
    func validate() throws(ExperimentationError) {
        guard hasUsableToken else {
            throw ExperimentationError(.configuration, "Sigma: the project token is empty or can't be sent.")
        }
    }

    /// Whether the token is valid in a request.
    var hasUsableToken: Bool { !projectToken.isEmpty && HTTPField.isValidValue(projectToken.reveal()) }

    static func lifetime(_ asked: Duration) -> Duration { min(max(asked, shortestLifetime), longestLifetime) }

    static func timeout(_ asked: Duration) -> Duration {
        asked < .milliseconds(500) ? .seconds(60) : min(asked, .seconds(86_400))
    }
}
