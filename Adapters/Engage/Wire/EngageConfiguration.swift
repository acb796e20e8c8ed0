import AdapterKit
import Experimentation
import Foundation

/// How the adapter reaches Engage and behaves; every default is the reference's.
///
/// ```swift
/// let configuration = try EngageConfiguration(
///     host: "https://api2.example.test/",
///     credentials: .init(clientID: "…", clientSecret: "…", refreshToken: "…"),
///     listID: "23949"
/// )
/// ```
///
/// The secret and the refresh token let anyone who has them write to the whole database: an application that is handed
/// out should talk to a relay of yours and name that as ``endpoint``.
public struct EngageConfiguration: Sendable {
    /// What lets an application in.
    public struct Credentials: Sendable {
        /// The client's id.
        public var clientID: String
        /// The client's secret.
        public var clientSecret: Secret
        /// The token that access tokens are asked for with.
        public var refreshToken: Secret
        /// Creates credentials.
        public init(clientID: String, clientSecret: Secret, refreshToken: Secret) {
            self.clientID = clientID
            self.clientSecret = clientSecret
            self.refreshToken = refreshToken
        }
    }

    /// The names under which campaigns come in links and notifications.
    public struct ParameterNames: Sendable, Hashable {
        /// The campaign's name.
        public var currentCampaign = "CurrentCampaign"
        /// When it ends, as a moment.
        public var campaignExpiresAt = "CampaignExpiresAt"
        /// When it ends, in seconds since 1970.
        public var campaignEnd = "CampaignEndTimeStamp"
        /// How long it lasts.
        public var campaignValidFor = "CampaignValidFor"
        /// What the button of a notification says.
        public var callToAction = "CallToAction"
        /// Creates the reference's names.
        public init() {}
    }

    /// The names of attributes on the wire that can be chosen; the ten core ones can't.
    public struct AttributeNames: Sendable, Hashable {
        /// Whole seconds of a session.
        public var sessionDuration = "Session Duration"
        /// Tags, joined by commas.
        public var tags = "Tags"
        /// What a notification showed.
        public var displayedMessage = "Displayed Message"
        /// What a notification's button said.
        public var callToAction = "Call To Action"
        /// The name of a named event.
        public var eventName = "Event Name"
        /// The name of a goal.
        public var goalName = "Goal Name"
        /// The current campaign.
        public var currentCampaign = "Campaign Name"
        /// The last campaign, whether it is over or not.
        public var lastCampaign = "Last Campaign"
        /// A place in one line.
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

    /// What is done about places.
    public struct Location: Sendable, Hashable {
        /// How exactly positions are wanted; the application passes it on to what finds them.
        public enum Precision: String, Sendable, Hashable, CaseIterable {
            /// As exactly as can be, with what a car knows.
            case bestForNavigation = "kCLLocationAccuracyBestForNavigation"
            /// As exactly as can be.
            case best = "kCLLocationAccuracyBest"
            /// To ten metres.
            case nearestTenMeters = "kCLLocationAccuracyNearestTenMeters"
            /// To a hundred metres.
            case hundredMeters = "kCLLocationAccuracyHundredMeters"
            /// To a kilometre.
            case kilometer = "kCLLocationAccuracyKilometer"
            /// To three kilometres.
            case threeKilometers = "kCLLocationAccuracyThreeKilometers"

            /// Reads the platform's name of the constant in any case; the unknown is to ten metres.
            public init(named name: String) {
                self = Self.allCases.first { $0.rawValue.lowercased() == name.lowercased() } ?? .nearestTenMeters
            }
        }

        /// Whether places are used at all; without, the plug-ins that need one are passed over at once.
        public var isEnabled = true
        /// How the day of the last known place is written, as a Unicode date pattern.
        public var dateFormat = "yyyy-MM-dd"
        /// The column for the day of the last known place.
        public var timestampColumn = "Last Location Address Time"
        /// The column for the last known place.
        public var addressColumn = "Last Location Address"
        /// Metres that a position must lie from the last one to be taken.
        public var distanceFilter = 10.0
        /// How exactly positions are wanted: a hint for what finds them.
        public var precision = Precision.best
        /// How long a place is good: one that was named longer before a behaviour isn't its place.
        public var cacheLifespan = Duration.seconds(3600)
        /// How long an event waits for a place; one that was named later isn't its place.
        public var placemarkTimeout = Duration.seconds(15)
        /// How long an event waits for a position; one that was found later isn't its position.
        public var acquisitionTimeout = Duration.seconds(15)
        /// Creates the reference's settings.
        public init() {}
    }

    /// The relational table in which merges are written down.
    public struct AuditTable: Sendable, Hashable {
        /// The table's id.
        public var tableID: String
        /// The column of the key.
        public var keyColumn = "Audit Record Id"
        /// The column of the recipient that was given up.
        public var oldRecipientColumn = "Old Recipient Id"
        /// The column of the recipient that was taken on.
        public var newRecipientColumn = "New Recipient Id"
        /// The column of the moment.
        public var dateColumn = "Create Date"
        /// Makes a key; `nil` for the environment's ids.
        ///
        /// An empty key is replaced by one of those.
        public var makeKey: (@Sendable () -> String)?
        /// Creates a table by its id.
        public init(tableID: String) { self.tableID = tableID }

        /// Compares all but the generator.
        public static func == (one: Self, other: Self) -> Bool { one.fields == other.fields }
        /// Hashes all but the generator.
        public func hash(into hasher: inout Hasher) { hasher.combine(fields) }
        private var fields: [String] { [tableID, keyColumn, oldRecipientColumn, newRecipientColumn, dateColumn] }
    }

    /// How recipients are told apart and merged.
    public struct Recipients: Sendable {
        /// Whether a mobile user id is made where there is none.
        public var autoAnonymous = true
        /// The column of the mobile user id; it must exist in the list.
        public var mobileUserIDColumn = "Mobile User Id"
        /// The column of the recipient that another was merged into.
        public var mergedRecipientIDColumn = "Merged Recipient Id"
        /// The column of the moment of the merge.
        public var mergedDateColumn = "Merged Date"
        /// Whether merges are written to the list itself.
        public var historyInList = true
        /// The table in which merges are written down; `nil` for none.
        ///
        /// Both may be on.
        public var audit: AuditTable?
        /// Makes a mobile user id; `nil` for the environment's ids.
        ///
        /// An empty id is replaced by one of those.
        public var makeID: (@Sendable () -> String)?
        /// Whether the recipient is opted out when a user withdraws consent.
        public var optsOutOnDenial = false
        /// Creates the reference's settings.
        public init() {}
    }

    /// What is sent, and how often.
    public struct Networking: Sendable, Hashable {
        /// How many refusals of its own an event survives.
        public var attempts = 3
        /// How long one exchange may take.
        public var timeout = Duration.seconds(30)
        /// How long a call may wait for a token, retries included.
        public var patience = Duration.seconds(60)
        /// How many XML calls are under way at once; the vendor refuses the eleventh of an organization.
        public var concurrency = 8
        /// The wait after a first failure to get a token; it doubles each time.
        public var firstBackoff = Duration.seconds(1)
        /// The longest wait after a failure to get a token.
        public var longestBackoff = Duration.seconds(300)
        /// Bytes of an answer that are read at most.
        public var responseBytes = 8 << 20
        /// Creates the usual settings.
        public init() {}
    }

    /// How events are completed.
    public struct Augmentation: Sendable {
        /// How long all plug-ins together may take for one event.
        public var timeout = Duration.seconds(15)
        /// What completes events, in this order.
        public var plugins: [any AugmentationPlugin] = []
        /// Creates settings without plug-ins.
        public init() {}
    }

    /// The server.
    public var endpoint: Endpoint
    /// What lets the application in.
    public var credentials: Credentials
    /// The list that recipients are in.
    public var listID: String
    /// How many events wait before they are sent.
    public var batchSize = 3
    /// How long an event waits at most before it is sent.
    public var batchInterval = Duration.seconds(30)
    /// How long a campaign lasts that doesn't say.
    public var campaignLifetime = Duration.seconds(86_400)
    /// How long the application may be away before the session is over.
    public var sessionTimeout = Duration.seconds(300)
    /// How long events that were neither delivered nor given up are kept, in days.
    public var retentionDays = 30
    /// Whether behaviours carry the recipient's id as the documented `contactId` where it is known.
    public var sendsContactID = true
    /// The names under which campaigns come.
    public var parameters = ParameterNames()
    /// The names of attributes on the wire.
    public var attributes = AttributeNames()
    /// What is done about places.
    public var location = Location()
    /// How recipients are told apart and merged.
    public var recipients = Recipients()
    /// What is sent, and how often.
    public var networking = Networking()
    /// How events are completed.
    public var augmentation = Augmentation()
    /// What is told of the device and the application.
    public var device = EngageDevice.current

    /// Creates a configuration from an address as it is written.
    ///
    /// - Parameters:
    ///   - host: The server, with or without a slash at the end; `https`, or `http` on a loopback address.
    ///   - credentials: What lets the application in.
    ///   - listID: The list that recipients belong to.
    /// - Throws: `ErrorCode.configuration` for what isn't an address.
    public init(host: String, credentials: Credentials, listID: String) throws(ExperimentationError) {
        self.init(endpoint: try Endpoint(host), credentials: credentials, listID: listID)
    }

    /// Creates a configuration.
    public init(endpoint: Endpoint, credentials: Credentials, listID: String) {
        self.endpoint = endpoint
        self.credentials = credentials
        self.listID = listID
    }

    /// Checks what can be checked without the vendor.
    ///
    /// - Throws: `ErrorCode.configuration` with the setting's name.
    public func validate() throws(ExperimentationError) {
        func demand(_ isGood: Bool, _ text: String) throws(ExperimentationError) {
            guard isGood else { throw ExperimentationError(.configuration, text) }
        }
        try demand(!credentials.clientID.isEmpty, "clientID must not be empty")
        try demand(!credentials.clientSecret.reveal().isEmpty, "clientSecret must not be empty")
        try demand(!credentials.refreshToken.reveal().isEmpty, "refreshToken must not be empty")
        try demand((1...100).contains(batchSize), "batchSize must be from 1 to 100")
        try demand(networking.attempts >= 1, "networking.attempts must be at least 1")
        try demand((1...10).contains(networking.concurrency), "networking.concurrency must be from 1 to 10")
        try demand(retentionDays >= 1, "retentionDays must be at least 1")
        try demand(augmentation.timeout >= .zero, "augmentation.timeout must not be negative")
        try demand(sessionTimeout >= .zero, "sessionTimeout must not be negative")
        try demand(campaignLifetime >= .zero, "campaignLifetime must not be negative")
        try demand(location.distanceFilter >= 0, "location.distanceFilter must not be negative")
    }

    /// Checks what a merge needs.
    ///
    /// - Throws: ``ErrorCode/configuration`` with the setting's name.
    func validateMerging() throws(ExperimentationError) {
        try validateRecipients()
        if recipients.historyInList {
            guard !recipients.mergedDateColumn.isEmpty, !recipients.mergedRecipientIDColumn.isEmpty else {
                throw ExperimentationError(
                    .configuration,
                    "recipients.mergedDateColumn and recipients.mergedRecipientIDColumn must not be empty"
                )
            }
        }
        if let audit = recipients.audit {
            guard !audit.tableID.isEmpty else {
                throw ExperimentationError(.configuration, "recipients.audit.tableID must not be empty")
            }
            guard ![audit.keyColumn, audit.oldRecipientColumn, audit.newRecipientColumn, audit.dateColumn].contains("")
            else { throw ExperimentationError(.configuration, "recipients.audit: no column's name may be empty") }
        }
    }

    /// Checks what a recipient needs.
    ///
    /// - Throws: ``ErrorCode/configuration`` with the setting's name.
    func validateRecipients() throws(ExperimentationError) {
        guard !listID.isEmpty else { throw ExperimentationError(.configuration, "listID must not be empty") }
        guard !recipients.mobileUserIDColumn.isEmpty else {
            throw ExperimentationError(.configuration, "recipients.mobileUserIDColumn must not be empty")
        }
    }
}
