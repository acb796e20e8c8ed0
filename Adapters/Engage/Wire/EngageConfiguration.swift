import AdapterKit
import Experimentation
import Foundation

/// How the adapter connects to Engage and behaves; every default is the reference's.
///
/// ```swift
/// let configuration = try EngageConfiguration(
///     host: "https://api2.example.test/",
///     credentials: .init(clientID: "…", clientSecret: "…", refreshToken: "…"),
///     listID: "23949"
/// )
/// ```
///
/// Anyone who has the secret and the refresh token can write to the whole database: an application that you distribute
/// should talk to a relay of yours, named as ``endpoint``.
public struct EngageConfiguration: Sendable {
    /// The credentials of an application.
    public struct Credentials: Sendable {
        /// The client's id.
        public var clientID: String
        /// The client's secret.
        public var clientSecret: Secret
        /// The token that requests access tokens.
        public var refreshToken: Secret
        /// Creates credentials.
        public init(clientID: String, clientSecret: Secret, refreshToken: Secret) {
            self.clientID = clientID
            self.clientSecret = clientSecret
            self.refreshToken = refreshToken
        }
    }

    /// The names of campaign parameters in links and notifications.
    public struct ParameterNames: Sendable, Hashable {
        /// The campaign's name.
        public var currentCampaign = "CurrentCampaign"
        /// When it ends, as a date.
        public var campaignExpiresAt = "CampaignExpiresAt"
        /// When it ends, in seconds since 1970.
        public var campaignEnd = "CampaignEndTimeStamp"
        /// How long it lasts.
        public var campaignValidFor = "CampaignValidFor"
        /// The button's label in a notification.
        public var callToAction = "CallToAction"
        /// Creates the reference's names.
        public init() {}
    }

    /// The configurable names of attributes on the wire; the ten core ones are fixed.
    public struct AttributeNames: Sendable, Hashable {
        /// The length of a session in whole seconds.
        public var sessionDuration = "Session Duration"
        /// Tags, joined by commas.
        public var tags = "Tags"
        /// The text of a notification.
        public var displayedMessage = "Displayed Message"
        /// The label of a notification's button.
        public var callToAction = "Call To Action"
        /// The name of a named event.
        public var eventName = "Event Name"
        /// The name of a goal.
        public var goalName = "Goal Name"
        /// The current campaign.
        public var currentCampaign = "Campaign Name"
        /// The last campaign, ended or not.
        public var lastCampaign = "Last Campaign"
        /// An address in one line.
        public var locationAddress = "Location Address"
        /// The name of a place.
        public var locationName = "Location Name"
        /// Degrees north.
        public var latitude = "Latitude"
        /// Degrees east.
        public var longitude = "Longitude"
        /// Creates the reference's names.
        public init() {}
    }

    /// Settings for locations.
    public struct Location: Sendable, Hashable {
        /// The desired accuracy of positions, for the application's source of positions.
        public enum Precision: String, Sendable, Hashable, CaseIterable {
            /// The highest accuracy, with navigation data.
            case bestForNavigation = "kCLLocationAccuracyBestForNavigation"
            /// The highest accuracy.
            case best = "kCLLocationAccuracyBest"
            /// To ten meters.
            case nearestTenMeters = "kCLLocationAccuracyNearestTenMeters"
            /// To a hundred meters.
            case hundredMeters = "kCLLocationAccuracyHundredMeters"
            /// To a kilometer.
            case kilometer = "kCLLocationAccuracyKilometer"
            /// To three kilometers.
            case threeKilometers = "kCLLocationAccuracyThreeKilometers"

            /// Parses the platform's name of the constant in any case; an unknown one means ten meters.
            public init(named name: String) {
                self = Self.allCases.first { $0.rawValue.lowercased() == name.lowercased() } ?? .nearestTenMeters
            }
        }

        /// Whether location is used at all; if not, the plug-ins that need it are skipped at once.
        public var isEnabled = true
        /// The format of the date of the last known location, as a Unicode date pattern.
        public var dateFormat = "yyyy-MM-dd"
        /// The column for the date of the last known location.
        public var timestampColumn = "Last Location Address Time"
        /// The column for the last known location.
        public var addressColumn = "Last Location Address"
        /// The minimum distance in meters from the last position for a new one to be added.
        public var distanceFilter = 10.0
        /// The desired accuracy of positions: a hint for their source.
        public var precision = Precision.best
        /// How long a place is valid: one found longer before a behavior isn't used for it.
        public var cacheLifespan = Duration.seconds(3600)
        /// How long an event waits for a place; one found later isn't used for it.
        public var placemarkTimeout = Duration.seconds(15)
        /// How long an event waits for a position; one found later isn't used for it.
        public var acquisitionTimeout = Duration.seconds(15)
        /// Creates the reference's settings.
        public init() {}
    }

    /// The relational table in which merges are recorded.
    public struct AuditTable: Sendable, Hashable {
        /// The table's id.
        public var tableID: String
        /// The column of the key.
        public var keyColumn = "Audit Record Id"
        /// The column of the abandoned recipient.
        public var oldRecipientColumn = "Old Recipient Id"
        /// The column of the surviving recipient.
        public var newRecipientColumn = "New Recipient Id"
        /// The column of the date.
        public var dateColumn = "Create Date"
        /// Generates a key; `nil` for the environment's ids.
        ///
        /// An empty key is replaced by one of those.
        public var makeKey: (@Sendable () -> String)?
        /// Creates a table with an id.
        public init(tableID: String) { self.tableID = tableID }

        /// Compares everything except the generator.
        public static func == (one: Self, other: Self) -> Bool { one.fields == other.fields }
        /// Hashes everything except the generator.
        public func hash(into hasher: inout Hasher) { hasher.combine(fields) }
        private var fields: [String] { [tableID, keyColumn, oldRecipientColumn, newRecipientColumn, dateColumn] }
    }

    /// How recipients are identified and merged.
    public struct Recipients: Sendable {
        /// Whether to generate a missing mobile user id.
        public var autoAnonymous = true
        /// The column of the mobile user id; it must exist in the list.
        public var mobileUserIDColumn = "Mobile User Id"
        /// The column of the recipient that another was merged into.
        public var mergedRecipientIDColumn = "Merged Recipient Id"
        /// The column of the date of the merge.
        public var mergedDateColumn = "Merged Date"
        /// Whether to record merges in the list itself.
        public var historyInList = true
        /// The table in which to record merges; `nil` for none.
        ///
        /// Both may be on.
        public var audit: AuditTable?
        /// Generates a mobile user id; `nil` for the environment's ids.
        ///
        /// An empty id is replaced by one of those.
        public var makeID: (@Sendable () -> String)?
        /// Whether to opt out the recipient when a user withdraws consent.
        public var optsOutOnDenial = false
        /// Creates the reference's settings.
        public init() {}
    }

    /// Limits of network use.
    public struct Networking: Sendable, Hashable {
        /// How many refusals of its own an event survives.
        public var attempts = 3
        /// The time limit of one exchange.
        public var timeout = Duration.seconds(30)
        /// How long a call may wait for a token, including retries.
        public var patience = Duration.seconds(60)
        /// The maximum number of simultaneous XML calls; the vendor refuses an organization's eleventh.
        public var concurrency = 8
        /// The wait after the first failure to get a token; it doubles each time.
        public var firstBackoff = Duration.seconds(1)
        /// The longest wait after a failure to get a token.
        public var longestBackoff = Duration.seconds(300)
        /// The maximum size of an answer in bytes.
        public var responseBytes = 8 << 20
        /// Creates the usual settings.
        public init() {}
    }

    /// How events are completed.
    public struct Augmentation: Sendable {
        /// The time limit for all plug-ins together on one event.
        public var timeout = Duration.seconds(15)
        /// The plug-ins that complete events, in this order.
        public var plugins: [any AugmentationPlugin] = []
        /// Creates settings without plug-ins.
        public init() {}
    }

    /// The server.
    public var endpoint: Endpoint
    /// The application's credentials.
    public var credentials: Credentials
    /// The list of the recipients.
    public var listID: String
    /// How many waiting events trigger a delivery.
    public var batchSize = 3
    /// How long an event may wait before it is sent.
    public var batchInterval = Duration.seconds(30)
    /// The length of a campaign that doesn't state one.
    public var campaignLifetime = Duration.seconds(86_400)
    /// How long the application may be away before the session ends.
    public var sessionTimeout = Duration.seconds(300)
    /// For how many days events that were neither delivered nor dropped are kept, from 1 to 3650.
    public var retentionDays = 30
    /// Whether behaviors carry a known recipient's id as the documented `contactId`.
    public var sendsContactID = true
    /// The names of campaign parameters.
    public var parameters = ParameterNames()
    /// The names of attributes on the wire.
    public var attributes = AttributeNames()
    /// Settings for locations.
    public var location = Location()
    /// How recipients are identified and merged.
    public var recipients = Recipients()
    /// Limits of network use.
    public var networking = Networking()
    /// How events are completed.
    public var augmentation = Augmentation()
    /// What behaviors report about the device and the application.
    public var device = EngageDevice.current

    /// Creates a configuration from an address as a string.
    ///
    /// - Parameters:
    ///   - host: The server, with or without a trailing slash; `https`, or `http` on a loopback address.
    ///   - credentials: The application's credentials.
    ///   - listID: The list of the recipients.
    /// - Throws: `ErrorCode.configuration` for an invalid address.
    public init(host: String, credentials: Credentials, listID: String) throws(ExperimentationError) {
        self.init(endpoint: try Endpoint(host), credentials: credentials, listID: listID)
    }

    /// Creates a configuration.
    public init(endpoint: Endpoint, credentials: Credentials, listID: String) {
        self.endpoint = endpoint
        self.credentials = credentials
        self.listID = listID
    }
}
