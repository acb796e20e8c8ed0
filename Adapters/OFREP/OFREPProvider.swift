import AdapterKit
import Experimentation

/// A provider for any server that speaks the OpenFeature Remote Evaluation Protocol.
///
/// ```swift
/// let client = try await ExperimentationClient(
///     provider: OFREPProvider(configuration: OFREPConfiguration(baseURL: try Endpoint("https://flags.example.com")))
/// )
/// ```
///
/// Requests all flags of a user at once. The protocol has no experiments, exposures or events; events are delivered to a
/// server that accepts them in addition to the protocol (``OFREPConfiguration/eventsPath``).
public struct OFREPProvider: ExperimentationProvider {
    /// The vendor's name.
    public let name = "ofrep"
    /// The settings.
    public let configuration: OFREPConfiguration
    private let transport: (any HTTPTransport)?

    /// Creates a provider; sends nothing before a client starts it.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: How requests are sent; the platform's engine if `nil`.
    public init(configuration: OFREPConfiguration, transport: (any HTTPTransport)? = nil) {
        self.configuration = configuration
        self.transport = transport
    }

    /// The address and the credentials, since these may decide which flags exist.
    public var scope: String { configuration.account }

    /// The protocol offers only flags; events require a server that accepts them.
    public var capabilities: Set<Capability> {
        let flags: Set<Capability> = [.flags, .objectFlags, .flagMetadata, .targeting, .offlineStart]
        let events: Set<Capability> = [.tracking, .commerce, .batching, .eventIDs, .consentSignal]
        return configuration.eventsPath == nil ? flags : flags.union(events)
    }

    /// Validates the settings.
    ///
    /// - Throws: ``ErrorCode/configuration`` naming the setting.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        try configuration.validate()
        let transport = transport ?? DefaultTransport.make()
        let requests = OFREPRequests(configuration)
        let listener =
            configuration.changes == .none
            ? nil
            : OFREPListener(
                requests,
                opensStreams: configuration.changes == .events,
                transport: transport,
                environment: context.environment
            )
        var retry = configuration.retry
        // The server sets the wait, and it is longer than a retry's.
        retry.statuses.remove(429)
        let client = HTTPClient(transport: transport, retry: retry, environment: context.environment)
        let source = OFREPDecisionSource(
            configuration,
            requests: requests,
            client: client,
            listener: listener,
            environment: context.environment
        )
        var roles = ProviderRoles(decisions: .asked(source))
        if configuration.eventsPath != nil {
            roles.events = OFREPEventSink(
                requests: requests,
                configuration: configuration,
                client: client,
                environment: context.environment
            )
        }
        roles.changes = listener
        roles.forget = { userID in source.forget(userID) }
        roles.stop = { _ in listener?.stop() }
        return roles
    }
}
