import AdapterKit
import Experimentation

/// Sigma behind the neutral client: a project's configuration is fetched once for all users and evaluated here.
///
/// ```swift
/// let provider = SigmaProvider(configuration: SigmaConfiguration(projectToken: "token"))
/// let client = try await ExperimentationClient(provider: provider)
/// ```
///
/// The vendor takes no events, so exposures and other events have no destination: send
/// ``Sigma/experiments(of:includingHoldouts:)`` to your own analytics. The calls of the vendor's SDK are in
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
    ///   - transport: Sends requests; the platform's own if `nil`.
    public init(configuration: SigmaConfiguration, transport: (any HTTPTransport)? = nil) {
        self.configuration = configuration
        self.transport = transport
    }

    /// The token and the address: one project's state is useless for another.
    public var scope: String {
        // In the vendor's notation of its own address, because a store knows the account by this string.
        let slash = configuration.endpoint == SigmaConfiguration.vendorEndpoint ? "/" : ""
        return "\(configuration.projectToken.reveal()) \(configuration.endpoint)\(slash)"
    }

    /// All capabilities of decisions, none of events.
    public let capabilities: Set<Capability> = [
        .flags, .objectFlags, .flagMetadata, .targeting, .dateTargeting, .versionTargeting, .localEvaluation,
        .offlineStart, .experiments, .layers, .holdouts, .controlGroups, .overrides,
    ]

    /// Checks the settings.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a token or an installation's id that can't be sent.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        try configuration.validate()
        let environment = context.environment
        var configuration = configuration
        configuration.device = await configuration.device.identified()
        let source = SigmaRulesetSource(
            SigmaService(configuration, transport: transport ?? DefaultTransport.make(), environment: environment),
            privateID: configuration.privateID ?? SigmaPrivateID.make(environment.jitter),
            environment: environment
        )
        var roles = ProviderRoles(decisions: .computed(source))
        roles.assignments.allowsOverrides = true
        roles.stop = { _ in source.stop() }
        return roles
    }
}
