import AdapterKit
import Experimentation

/// Sigma behind the neutral client: a project's configuration is fetched once for all users and evaluated here.
///
/// ```swift
/// let provider = SigmaProvider(configuration: SigmaConfiguration(projectToken: "token"))
/// let client = try await ExperimentationClient(provider: provider)
/// ```
///
/// The vendor takes no events, so exposures and other events have nowhere to go: send
/// ``Sigma/experiments(of:includingHoldouts:)`` to your own analytics. Calls in the words of the vendor's SDK are in
/// ``Sigma`` and ``SigmaClient``.
public struct SigmaProvider: ExperimentationProvider {
    /// The vendor's name.
    public let name = "sigma"
    /// The settings.
    public let configuration: SigmaConfiguration
    private let transport: (any HTTPTransport)?

    /// Creates a provider; nothing is sent before a client starts it.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: How requests are sent; the platform's way if `nil`.
    public init(configuration: SigmaConfiguration, transport: (any HTTPTransport)? = nil) {
        self.configuration = configuration
        self.transport = transport
    }

    /// The token and the address; what was fetched for one project is of no use for another.
    public var scope: String {
        // As the vendor writes its own address: a store knows the account by this text.
        let slash = configuration.endpoint == SigmaConfiguration.vendorEndpoint ? "/" : ""
        return "\(configuration.projectToken.reveal()) \(configuration.endpoint)\(slash)"
    }

    /// Everything about decisions, nothing about events.
    public let capabilities: Set<Capability> = [
        .flags, .objectFlags, .flagMetadata, .targeting, .localEvaluation, .offlineStart, .experiments, .holdouts,
        .controlGroups, .overrides,
    ]

    /// Checks the settings.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a token that can't be sent.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        try configuration.validate()
        let environment = context.environment
        var configuration = configuration
        configuration.device = await configuration.device.identified()
        let source = SigmaRulesetSource(
            SigmaService(configuration, transport: transport ?? DefaultTransport.make(), environment: environment),
            privateID: configuration.privateID ?? SigmaPrivateID.make(environment.jitter),
            log: environment.log
        )
        var roles = ProviderRoles(decisions: .computed(source))
        roles.assignments.allowsOverrides = true
        return roles
    }
}
