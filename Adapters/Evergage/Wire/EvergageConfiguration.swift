import AdapterKit
import Experimentation
import Foundation

/// Where events go and how the application shows itself to the vendor.
///
/// ```swift
/// let configuration = try EvergageConfiguration(account: "acme.us-1", dataset: "engage")
/// ```
public struct EvergageConfiguration: Sendable, Hashable {
    /// The account, with its instance if it has one, as in `acme.us-1`.
    public let account: String
    /// The data set.
    public var dataset: String
    /// The server.
    public var endpoint: Endpoint
    /// What the vendor's source rules know this application's kind by.
    public var channel: String
    /// What the vendor's source rules know this application by: its bundle id, where it has one.
    public var application: String
    /// The locale that events tell, such as `en_US`; none if `nil`.
    public var locale: String?
    /// Whether tokens for notifications are sent.
    public var usePushNotifications: Bool
    /// Whether the gesture that connects to the vendor's screen mapping console is wanted.
    ///
    /// There is no console here: the option is kept so that settings can be taken over, and has no effect.
    public var useDesignMode: Bool
    /// Whether events wait for a configuration that the vendor serves, and go by what it says.
    ///
    /// The place of that configuration isn't published, so this is off.
    public var usesRemoteConfiguration: Bool
    /// How long one request may take.
    public var timeout: Duration
    /// How old an event may be to bring campaigns.
    public var campaignAge: Duration
    /// How old an event may be to be sent at all.
    public var maximumAge: Duration
    /// How fast events may follow one another; as fast as they come if `nil`.
    public var pace: BatchPolicy.Pace?

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - account: The account, with its instance if it has one.
    ///   - dataset: The data set.
    ///   - endpoint: The server; `https://{account}.evergage.com` if `nil`.
    ///   - channel: What source rules know this application's kind by.
    ///   - application: What source rules know this application by.
    ///   - locale: The locale that events tell.
    ///   - usePushNotifications: Whether tokens for notifications are sent.
    ///   - useDesignMode: Kept for settings that are taken over; no effect.
    ///   - usesRemoteConfiguration: Whether events wait for a configuration that the vendor serves.
    ///   - timeout: How long one request may take.
    ///   - campaignAge: How old an event may be to bring campaigns.
    ///   - maximumAge: How old an event may be to be sent at all.
    ///   - pace: How fast events may follow one another.
    /// - Throws: `ErrorCode.configuration` that names the setting.
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

    /// Whether the server is the one that the account's name says.
    var hasOwnServer: Bool { endpoint == (try? Endpoint(Self.server(of: account))) }

    private static func server(of account: String) -> String { "https://\(account).evergage.com" }

    /// Checks the settings.
    ///
    /// - Throws: ``ErrorCode/configuration`` that names the setting.
    func validate() throws(ExperimentationError) {
        if dataset.isBlank { throw ExperimentationError(.configuration, "dataset must not be blank") }
        if timeout <= .zero { throw ExperimentationError(.configuration, "timeout must be above zero") }
        if let pace, pace.requests < 1 || pace.interval <= .zero {
            throw ExperimentationError(.configuration, "pace needs at least one request and an interval above zero")
        }
    }
}
