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
    /// Records each consent that the vendor has been told of; only Flagship's own API needs them.
    var consents: FlagshipConsentNotes?

    /// Creates a provider; nothing is sent before a client starts it.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: Sends requests; the platform's own if `nil`.
    public init(configuration: FlagshipConfiguration, transport: (any HTTPTransport)? = nil) {
        self.configuration = configuration
        self.transport = transport
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
            environment: context.environment
        )
        var roles = ProviderRoles(
            decisions: configuration.mode == .bucketing
                ? .computed(BucketingSource(service: service)) : .asked(FlagshipDecisionSource(service: service)),
            events: FlagshipEventSink(service: service, consents: consents),
            needsConsent: true
        )
        // In API mode, the vendor remembers assignments, and requests have no member for them; in bucketing mode, this
        // device has to remember them.
        roles.assignments.isSticky = configuration.mode == .bucketing
        roles.extras = service
        if service.observations.isWanted { roles.flagSeen = { service.observations.see($0) } }
        roles.forget = { userID in service.forget(userID) }
        return roles
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
