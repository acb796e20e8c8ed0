import AdapterKit
import Experimentation

/// Evergage, later Interaction Studio and Marketing Cloud Personalization, through its Event API.
///
/// It has no flags: campaigns come back as answers to events and go to the handlers of
/// `UserSession.setCampaignHandler(forTarget:on:_:)`. Screens, view time and the vendor's own calls are in
/// ``Evergage``, which creates a client of its own.
///
/// ```swift
/// let configuration = try EvergageConfiguration(account: "acme.us-1", dataset: "engage")
/// let client = try await ExperimentationClient(provider: EvergageProvider(configuration: configuration))
/// ```
public struct EvergageProvider: ExperimentationProvider {
    /// The vendor's name.
    public let name = "evergage"
    /// The settings.
    public let configuration: EvergageConfiguration
    private let transport: (any HTTPTransport)?

    /// Creates a provider; nothing is sent before a client starts it.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: Sends requests; the platform's own if `nil`.
    public init(configuration: EvergageConfiguration, transport: (any HTTPTransport)? = nil) {
        self.configuration = configuration
        self.transport = transport
    }

    /// The account, the data set, and the server if it isn't the account's default.
    public var scope: String {
        let server = configuration.usesDefaultServer ? "" : configuration.endpoint.description
        return "\(configuration.account)/\(configuration.dataset)/\(server)"
    }

    /// Events and campaigns; no flags.
    public let capabilities: Set<Capability> = [
        .tracking, .commerce, .eventIDs, .campaigns, .controlGroups,
    ]

    /// Checks the settings.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the setting.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        try configuration.validate()
        let transport = transport ?? DefaultTransport.make()
        let events = EvergageEventSink(configuration: configuration, transport: transport, in: context)
        // The vendor shows the latest campaign of each target, and discards the others.
        var roles = ProviderRoles(events: events, campaigns: CampaignPolicy(limitPerTarget: 1))
        roles.extras = events
        roles.remoteSwitch = events.remoteSettings
        return roles
    }
}
