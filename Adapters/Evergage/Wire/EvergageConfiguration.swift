import AdapterKit
import Experimentation
import Foundation

/// Where events go, and how the application identifies itself to the vendor.
///
/// ```swift
/// let configuration = try EvergageConfiguration(account: "acme.us-1", dataset: "engage")
/// ```
public struct EvergageConfiguration: Sendable, Hashable {
    /// The account, with its instance if it has one, as in `acme.us-1`.
    public let account: String
    /// The data set.
    public var dataset: String
    /// The server; `https://{account}.evergage.com` by default.
    public var endpoint: Endpoint
    /// The kind of application, by which the vendor's source rules recognize it.
    public var channel: String
    /// The application by which the vendor's source rules recognize it: its bundle id, if it has one.
    public var application: String
    /// The locale of events, such as `en_US`; none if `nil`.
    public var locale: String?
    /// Whether to send notification tokens.
    ///
    /// The option exists only so that settings can be carried over, and has no effect: no token is sent, because the
    /// vendor's address for tokens isn't published.
    public var usePushNotifications: Bool
    /// Whether the gesture that connects to the vendor's screen mapping console is enabled.
    ///
    /// The option exists only so that settings can be carried over, and has no effect: this adapter has no console.
    public var useDesignMode: Bool
    /// Whether events wait for a configuration from the vendor and follow it.
    ///
    /// The address of that configuration isn't published, so this is off by default.
    public var usesRemoteConfiguration: Bool
    /// The time limit of one request.
    public var timeout: Duration
    /// The maximum age of an event that may bring campaigns.
    public var campaignAge: Duration
    /// The maximum age of an event that may be sent.
    public var maximumAge: Duration
    /// The rate limit of events; `nil` for none.
    public var pace: BatchPolicy.Pace?

    /// Creates a configuration.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the setting.
    public init(
        account: String,
        dataset: String,
        endpoint: Endpoint? = nil,
        channel: String = "MobileApp",
        application: String = Bundle.main.bundleIdentifier ?? "",
        locale: String? = nil,
        usePushNotifications: Bool = false,
        useDesignMode: Bool = false,
        usesRemoteConfiguration: Bool = false,
        timeout: Duration = .seconds(15),
        campaignAge: Duration = .seconds(60),
        maximumAge: Duration = .seconds(7 * 24 * 3600),
        pace: BatchPolicy.Pace? = .init(requests: 10, per: .seconds(5))
    ) throws(ExperimentationError) {
        if account.isBlank { throw ExperimentationError(.configuration, "account must not be blank") }
        self.account = account
        self.dataset = dataset
        do throws(ExperimentationError) {
            self.endpoint = if let endpoint { endpoint } else { try Endpoint(Self.server(of: account)) }
        } catch {
            throw ExperimentationError(.configuration, "account can't name a server: \(error.message)")
        }
        self.channel = channel
        self.application = application
        self.locale = locale
        self.usePushNotifications = usePushNotifications
        self.useDesignMode = useDesignMode
        self.usesRemoteConfiguration = usesRemoteConfiguration
        self.timeout = timeout
        self.campaignAge = campaignAge
        self.maximumAge = maximumAge
        self.pace = pace
    }

    /// Whether the server is the account's default one.
    var usesDefaultServer: Bool { endpoint == (try? Endpoint(Self.server(of: account))) }

    private static func server(of account: String) -> String { "https://\(account).evergage.com" }

    /// Checks the settings.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the setting.
    func validate() throws(ExperimentationError) {
        if dataset.isBlank { throw ExperimentationError(.configuration, "dataset must not be blank") }
        if timeout <= .zero { throw ExperimentationError(.configuration, "timeout must be above zero") }
        for (name, age) in [("campaignAge", campaignAge), ("maximumAge", maximumAge)] where age < .zero {
            throw ExperimentationError(.configuration, "\(name) must not be negative")
        }
        if let pace, pace.requests < 1 || pace.interval <= .zero {
            throw ExperimentationError(.configuration, "pace needs at least one request and an interval above zero")
        }
    }
}
