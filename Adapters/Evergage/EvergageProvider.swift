import AdapterKit
import Experimentation
import Synchronization

/// Evergage, later Interaction Studio and Marketing Cloud Personalization, through its Event API.
///
/// It has no flags: campaigns come back as answers to events and go to the handlers of
/// `UserSession.setCampaignHandler(forTarget:on:_:)`. Screens, view time and the vendor's own calls are in
/// ``Evergage``, which makes a provider by itself.
///
/// ```swift
/// let provider = EvergageProvider(configuration: .init(account: "acme.us-1", dataset: "engage"))
/// let client = try await ExperimentationClient(provider: provider)
/// ```
public final class EvergageProvider: ExperimentationProvider {
    /// The vendor's name.
    public var name: String { "evergage" }
    /// The account, the data set and the server.
    public var scope: String {
        "\(configuration.account)/\(configuration.dataset)/\(configuration.baseURL ?? "")"
    }
    /// What is supported.
    public let capabilities: Set<Capability> = [
        .tracking, .commerce, .eventIDs, .campaigns, .controlGroups, .identityLinking,
    ]
    /// The roles that the vendor plays.
    public var roles: ProviderRoles {
        ProviderRoles(decisions: .delivered, events: delivery, campaigns: EvergageCampaigns())
    }

    /// The settings.
    public let configuration: EvergageConfiguration

    let delivery: EvergageEventSink

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - configuration: Where events go; checked by ``start()``.
    ///   - transport: What exchanges requests for answers; the platform's engine if `nil`.
    ///   - environment: Time, ids and a place for messages.
    public init(
        configuration: EvergageConfiguration,
        transport: (any HTTPTransport)? = nil,
        environment: Environment = Environment()
    ) {
        self.configuration = configuration
        delivery = EvergageEventSink(
            configuration: configuration,
            transport: transport ?? DefaultTransport.make(),
            environment: environment
        )
    }

    /// Checks the settings.
    public func start() async throws(ExperimentationError) {
        _ = try configuration.endpoint()
        delivery.begin()
    }
}

/// The vendor shows the latest campaign of each target, and forgets the others.
struct EvergageCampaigns: CampaignSource {
    var limitPerTarget: Int { 1 }
}
