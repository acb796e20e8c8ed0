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
    private let configuration: SigmaConfiguration

    /// `sigma`.
    public let name = "sigma"

    /// What the vendor does: it publishes rules.
    public let roles: ProviderRoles

    /// Creates a provider; asks nobody yet.
    ///
    /// - Parameters:
    ///   - configuration: Where the rules come from.
    ///   - transport: What carries requests; the platform's own if `nil`.
    ///   - environment: Time, chance and a place for messages.
    public init(
        configuration: SigmaConfiguration,
        transport: (any HTTPTransport)? = nil,
        environment: Environment = Environment()
    ) {
        self.configuration = configuration
        let service = SigmaService(
            configuration,
            transport: transport ?? DefaultTransport.make(),
            environment: environment
        )
        let source = SigmaRulesetSource(
            service,
            privateID: configuration.privateID ?? SigmaPrivateID.make(environment.jitter),
            log: environment.log
        )
        roles = ProviderRoles(decisions: .computed(source))
    }

    /// The token and the address; what was fetched for one project is of no use for another.
    public var scope: String { configuration.projectToken.reveal() + " " + configuration.apiURL }

    /// Everything about decisions, nothing about events.
    public var capabilities: Set<Capability> { Self.capabilities }

    /// The same for every configuration.
    public static let capabilities: Set<Capability> = [
        .flags, .objectFlags, .flagMetadata, .targeting, .localEvaluation, .offlineStart, .experiments, .holdouts,
        .controlGroups, .overrides,
    ]

    /// Checks the settings.
    ///
    /// - Throws: ``ErrorCode/configuration`` for an token that can't be sent or an address that can't be asked.
    public func start() async throws(ExperimentationError) {
        guard configuration.hasUsableToken else {
            throw ExperimentationError(.configuration, "Sigma: the project token is empty or can't be sent.")
        }
        do throws(ExperimentationError) { _ = try configuration.endpoint() } catch {
            throw ExperimentationError(.configuration, "Sigma: apiURL: \(error.message)")
        }
    }
}
