import AdapterKit
import Experimentation

/// Any server that speaks the OpenFeature Remote Evaluation Protocol, behind the neutral client.
///
/// ```swift
/// let client = try await ExperimentationClient(
///     provider: OFREPProvider(configuration: OFREPConfiguration(baseURL: try Endpoint("https://flags.example.com")))
/// )
/// ```
///
/// All flags of a user are asked for at once and read here. The protocol has no experiments, no exposures and no events.
public struct OFREPProvider: ExperimentationProvider {
    /// The vendor's name.
    public let name = "ofrep"
    /// The settings.
    public let configuration: OFREPConfiguration
    private let transport: (any HTTPTransport)?

    /// Creates a provider; nothing is sent before a client starts it.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: How requests are sent; the platform's way if `nil`.
    public init(configuration: OFREPConfiguration, transport: (any HTTPTransport)? = nil) {
        self.configuration = configuration
        self.transport = transport
    }

    /// The address and whatever lets this application in: it may decide which flags there are.
    public var scope: String { configuration.account }

    /// Flags; the protocol has no more.
    ///
    /// Metadata is handed on, but the suite can show that of experiments only.
    public let capabilities: Set<Capability> = [.flags, .objectFlags, .targeting, .offlineStart]

    /// Checks the settings.
    ///
    /// - Throws: ``ErrorCode/configuration`` that names the setting.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        try configuration.validate()
        let transport = transport ?? DefaultTransport.make()
        let requests = OFREPRequests(configuration)
        let listener =
            configuration.changes == .events
            ? OFREPListener(requests, transport: transport, environment: context.environment) : nil
        let source = OFREPDecisionSource(
            configuration,
            requests: requests,
            client: HTTPClient(transport: transport, retry: configuration.retry, environment: context.environment),
            listener: listener,
            environment: context.environment
        )
        var roles = ProviderRoles(decisions: .asked(source))
        roles.changes = listener
        roles.forget = { userID in source.forget(userID) }
        roles.stop = { _ in listener?.stop() }
        return roles
    }
}
