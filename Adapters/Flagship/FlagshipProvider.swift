import AdapterKit
import Experimentation
import Foundation

/// Flagship by AB Tasty, behind the neutral client.
///
/// ```swift
/// let client = try await ExperimentationClient(
///     provider: FlagshipProvider(configuration: .init(environmentID: "bkk9glocmjcg0vtmdlng", apiKey: "key"))
/// )
/// ```
///
/// Whether the vendor decides or this device does is a setting, ``FlagshipConfiguration/mode``. Features that only
/// Flagship has are in ``Flagship``, which has its API.
public struct FlagshipProvider: ExperimentationProvider {
    /// The vendor's name.
    public let name = "flagship"
    /// The settings.
    public let configuration: FlagshipConfiguration
    private let transport: (any HTTPTransport)?
    /// Receives each consent that the vendor was told of; only Flagship's own API asks for them.
    private let consents: FlagshipConsentNotes?

    /// Creates a provider; nothing is sent before a client starts it.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: Sends requests; the platform's own if `nil`.
    public init(configuration: FlagshipConfiguration, transport: (any HTTPTransport)? = nil) {
        self.init(configuration: configuration, transport: transport, consents: nil)
    }

    init(configuration: FlagshipConfiguration, transport: (any HTTPTransport)?, consents: FlagshipConsentNotes?) {
        self.configuration = configuration
        self.transport = transport
        self.consents = consents
    }

    /// The environment, the key and the mode.
    public var scope: String {
        "\(configuration.environmentID)/\(configuration.apiKey.reveal())/\(configuration.mode.rawValue)"
    }

    /// Flags and events; also local evaluation, in bucketing mode.
    public var capabilities: Set<Capability> {
        var capabilities: Set<Capability> = [
            .flags, .objectFlags, .flagMetadata, .targeting, .offlineStart, .experiments, .stickyAssignments,
            .controlGroups, .exposures, .tracking, .batching, .consentSignal, .killSwitch,
        ]
        if configuration.mode == .bucketing { capabilities.insert(.localEvaluation) }
        return capabilities
    }

    /// Checks the settings.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the setting.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        try configuration.validate()
        if !FlagshipConfiguration.isUsual(configuration.environmentID) {
            context.environment.log.log(
                .warning,
                "flagship.environment",
                "the environment's id is not of the usual form: 20 characters from 0 to 9 and a to v"
            )
        }
        let service = FlagshipService(
            configuration,
            transport: transport ?? DefaultTransport.make(),
            consents: consents,
            environment: context.environment
        )
        var roles = ProviderRoles(decisions: service.decisions, events: service.events, needsConsent: true)
        // In API mode the vendor remembers assignments, and requests have no member for them; in bucketing mode this
        // device has to.
        roles.assignments.isSticky = configuration.mode == .bucketing
        roles.extras = service
        if service.observations.isWanted { roles.flagSeen = { service.observations.see($0) } }
        roles.forget = { userID in service.forget(userID) }
        return roles
    }
}

/// The state that lives as long as a client.
struct FlagshipService: Sendable {
    let configuration: FlagshipConfiguration
    let observations: FlagshipObservations
    let reporter: FlagshipReporter?
    private let removals: UserRemovals
    /// Decisions in the configured mode.
    let decisions: ProviderRoles.Deciding
    let events: FlagshipEventSink

    init(
        _ configuration: FlagshipConfiguration,
        transport: any HTTPTransport,
        consents: FlagshipConsentNotes?,
        environment: ClientEnvironment
    ) {
        self.configuration = configuration
        let observations = FlagshipObservations(configuration.onVisitorExposed)
        self.observations = observations
        let requests = FlagshipRequests(
            environmentID: configuration.environmentID,
            apiKey: configuration.apiKey,
            endpoints: configuration.endpoints
        )
        let reading = HTTPClient(transport: transport, retry: configuration.retry, environment: environment)
        let sending = HTTPClient(transport: transport, retry: .none, environment: environment)
        let reporter = FlagshipReporter(
            configuration.reports,
            requests: requests,
            client: sending,
            limits: HTTPLimits(deadline: configuration.transferTimeout),
            environment: environment
        )
        self.reporter = reporter
        let removals = UserRemovals()
        self.removals = removals
        let automatic = configuration.device.context
        decisions =
            switch configuration.mode {
            case .decisionAPI:
                .asked(
                    FlagshipDecisionSource(
                        requests: requests,
                        client: reading,
                        automatic: automatic,
                        limits: HTTPLimits(deadline: configuration.timeout),
                        time: environment.time,
                        observations: observations,
                        removals: removals,
                        reporter: reporter
                    )
                )
            case .bucketing:
                .computed(
                    BucketingSource(
                        freshness: Freshness(polling: configuration.pollingInterval),
                        requests: requests,
                        client: reading,
                        limits: HTTPLimits(deadline: configuration.transferTimeout, responseBytes: 64 << 20),
                        rules: configuration.rules,
                        automatic: automatic,
                        environment: environment,
                        reporter: reporter
                    )
                )
            }
        events = FlagshipEventSink(
            batching: configuration.batching,
            environmentID: configuration.environmentID,
            requests: requests,
            client: sending,
            limits: HTTPLimits(deadline: configuration.transferTimeout),
            time: environment.time,
            log: environment.log,
            observations: observations,
            consents: consents,
            reporter: reporter
        )
    }
}

extension FlagshipService {
    /// Removes a visitor who has withdrawn consent.
    func forget(_ visitor: String) {
        removals.note(visitor)
        observations.forget(visitor)
        reporter?.forget(visitor)
    }
}

extension FlagshipConfiguration {
    /// The batch policy: the pool and interval of the vendor's tracking manager.
    var batching: BatchPolicy {
        BatchPolicy(
            count: poolSize,
            largest: poolSize,
            bytes: 2_500_000,
            interval: batchInterval,
            attempts: 3,
            maximumAge: maximumAge
        )
    }
}
