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
/// Whether the vendor decides or this device does is a setting, ``FlagshipConfiguration/mode``. What Flagship alone has
/// stands in ``Flagship``, which speaks its words.
public struct FlagshipProvider: ExperimentationProvider {
    /// The vendor's name.
    public let name = "flagship"
    /// The roles: decisions by the configured mode, and events; consent is needed.
    public let roles: ProviderRoles
    /// The settings.
    public let configuration: FlagshipConfiguration

    let observations: FlagshipObservations
    let reporter: FlagshipReporter?
    private let log: any LogSink

    /// Creates a provider; it does nothing until it is started.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: What exchanges requests; the platform's own if `nil`.
    ///   - environment: Time, chance, ids and a place for messages.
    public init(
        configuration: FlagshipConfiguration,
        transport: (any HTTPTransport)? = nil,
        environment: Environment = Environment()
    ) {
        self.configuration = configuration
        log = environment.log
        let observations = FlagshipObservations(configuration.onVisitorExposed)
        self.observations = observations
        guard let endpoints = try? configuration.endpoints ?? FlagshipConfiguration.Endpoints.vendor() else {
            // Constants that can't be read; start() says so.
            roles = ProviderRoles(needsConsent: true)
            reporter = nil
            return
        }
        let engine = transport ?? DefaultTransport.make()
        let requests = FlagshipRequests(
            environmentID: configuration.environmentID,
            apiKey: configuration.apiKey,
            endpoints: endpoints
        )
        let reading = HTTPClient(transport: engine, retry: configuration.retry, environment: environment)
        let sending = HTTPClient(transport: engine, retry: .none, environment: environment)
        let reporter = FlagshipReporter(
            configuration.reports,
            requests: requests,
            client: sending,
            limits: HTTPLimits(deadline: configuration.transferTimeout),
            environment: environment
        )
        self.reporter = reporter
        let automatic = configuration.device.context
        let decisions: ProviderRoles.Deciding =
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
        let events = FlagshipEventSink(
            batching: configuration.batching,
            environmentID: configuration.environmentID,
            requests: requests,
            client: sending,
            limits: HTTPLimits(deadline: configuration.transferTimeout),
            time: environment.time,
            observations: observations,
            reporter: reporter
        )
        roles = ProviderRoles(decisions: decisions, events: events, needsConsent: true)
    }

    /// The account, as the environment's id, the key and the mode tell it.
    public var scope: String {
        "\(configuration.environmentID)/\(configuration.apiKey.reveal())/\(configuration.mode.rawValue)"
    }

    /// What of the neutral contract is supported.
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
    /// - Throws: ``ErrorCode/configuration`` naming the setting that can't work.
    public func start() async throws(ExperimentationError) {
        try configuration.validate()
        if roles.decisions == nil { _ = try FlagshipConfiguration.Endpoints.vendor() }
        if !configuration.hasUsualEnvironmentID {
            log.log(
                .warning,
                "flagship.environment",
                "the environment's id is not of the usual form: 20 characters from 0 to 9 and a to v"
            )
        }
    }
}

extension FlagshipConfiguration {
    /// When events are sent: the pool and the interval of the vendor's tracking manager.
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
