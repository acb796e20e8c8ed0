import AdapterKit
import ConformanceKit
import ConformanceStages
import Experimentation
import Foundation
import MockVendors
import OFREPAdapter

/// The OFREP adapter with a mock server.
public struct OFREPSubject: ConformanceSubject {
    /// How sessions learn about changed decisions.
    public let changes: OFREPConfiguration.Changes

    /// Whether the server takes events outside the protocol, as this project's gateway does.
    public let takesEvents: Bool

    /// Creates the subject.
    public init(changes: OFREPConfiguration.Changes = .none, takesEvents: Bool = false) {
        self.changes = changes
        self.takesEvents = takesEvents
    }

    /// `ofrep`; `ofrep-events` where the server announces changes, and `ofrep-tracking` where it takes events.
    public var name: String {
        let changing = changes == .none ? OFREPMock.name : "\(OFREPMock.name)-\(changes.rawValue)"
        return takesEvents ? "\(changing)-tracking" : changing
    }

    /// The declared capabilities.
    public var capabilities: Set<Capability> {
        var configuration = OFREPConfiguration(baseURL: Endpoint(https: "flags.example.com"))
        configuration.eventsPath = eventsPath
        return OFREPProvider(configuration: configuration).capabilities
    }

    private var eventsPath: String? { takesEvents ? "v1/events" : nil }

    /// Why the other capabilities are missing.
    public var reasons: [Capability: String] {
        let noEvents = "OFREP has no events: it evaluates flags, and nothing else"
        let noExperiments = "OFREP tells a flag's value and variant, not which experiment gave it"
        let eventful: [Capability] =
            takesEvents ? [.exposures] : [.exposures, .tracking, .commerce, .batching, .eventIDs, .consentSignal]
        let experimental: [Capability] = [
            .experiments, .stickyAssignments, .layers, .holdouts, .controlGroups, .overrides,
        ]
        return Dictionary(uniqueKeysWithValues: eventful.map { ($0, noEvents) })
            .merging(experimental.map { ($0, noExperiments) }) { $1 }
            .merging([
                .dateTargeting: "OFREP doesn't say which comparisons a server has",
                .versionTargeting: "OFREP doesn't say which comparisons a server has",
                .localEvaluation: "OFREP's server decides; its rules aren't published",
                .identityLinking: "OFREP has one id for each user, and nothing to link",
                .campaigns: "OFREP has no campaigns",
                .killSwitch: "OFREP has no kill switch",
            ]) { $1 }
    }

    /// Every field of an event, which is written whole; none where the wire carries no events.
    public var wireFields: Set<Received.Field> { takesEvents ? Set(Received.Field.allCases) : [] }

    /// Cases that don't apply to an unchanged answer, which has no body to corrupt.
    public var knownDeviations: [KnownDeviation] {
        ["truncated", "short"].map {
            KnownDeviation(
                "caching/outlives-a-\($0)-answer",
                reason: "an unchanged answer is confirmed by a 304, which has no body that could be spoilt"
            )
        }
    }

    /// Starts a server with the world's flags.
    public func open(_ world: World) async throws -> any SubjectStage {
        let (changes, eventsPath) = (changes, eventsPath)
        let mock = OFREPMock()
        mock.setTakesEvents(takesEvents)
        return try await MockStage(
            mock,
            wire: MockWire(
                operations: takesEvents ? [.decisions: ["flags"], .events: ["intake"]] : [.decisions: ["flags"]],
                contentType: "application/json",
                secrets: [OFREPMock.token],
                load: { mock, world in
                    try await mock.load(Data(try JSON.encode(world.ofrepFlags)))
                    return world.ofrepGaps
                },
                makeProvider: { server in
                    OFREPProvider(
                        configuration: OFREPConfiguration(
                            baseURL: try Endpoint(server.url),
                            token: Secret(OFREPMock.token),
                            changes: changes,
                            timeout: server.patience,
                            retry: HTTPRetry(
                                attempts: 2,
                                backoff: Backoff(first: .milliseconds(5), longest: .milliseconds(20)),
                                statuses: [408, 425, 500, 502, 503, 504]
                            ),
                            eventsPath: eventsPath
                        )
                    )
                },
                received: { mock, journal in try Self.received(mock.receivedEvents, journal) },
                takeReceived: { mock, journal in try Self.received(mock.takeReceivedEvents(), journal) },
                isHeard: { mock in changes != .events || mock.listeners > 0 }
            ),
            world: world
        )
    }

    /// Events, each with the number of the exchange that carried it: the requests that reached the server, in order.
    private static func received(_ events: [(json: String, request: Int)], _ journal: [JournalEntry]) throws
        -> [Received]
    {
        let exchanges = journal.filter { $0.operation == "intake" && $0.hasReachedReceiver }
        return try events.map { event in
            let place = event.request - 1
            let number = exchanges.indices.contains(place) ? exchanges[place].number : 0
            return try Received(json: event.json, exchange: number)
        }
    }
}

// MARK: - A world as a file of flags

extension World {
    /// This world's flags in the mock server's format.
    var ofrepFlags: FlagValue {
        ["flags": .object(Dictionary(flags.map { ($0.key, ofrep($0)) }) { $1 })]
    }

    /// The parts of this world that the mock server can't represent.
    var ofrepGaps: [WorldGap] {
        var gaps: [WorldGap] = []
        if !experiments.isEmpty { gaps.append(WorldGap("experiments", "OFREP doesn't tell of experiments")) }
        if !holdouts.isEmpty { gaps.append(WorldGap("holdouts", "OFREP has no holdouts")) }
        if !campaigns.isEmpty { gaps.append(WorldGap("campaigns", "OFREP has no campaigns")) }
        for flag in flags where flag.rules.contains(where: { $0.when.contains { $0.comparison.isOfDatesOrVersions } }) {
            gaps.append(WorldGap("flags/\(flag.key)", "OFREP doesn't say which comparisons a server has"))
        }
        if lifetime != nil { gaps.append(WorldGap("lifetime", "OFREP doesn't say how long an answer is good")) }
        return gaps
    }

    private func ofrep(_ flag: Flag) -> FlagValue {
        var members: [String: FlagValue] = [
            "value": flag.value, "disabled": .bool(flag.isDisabled), "broken": .bool(flag.isMalformed),
            "rules": .array(flag.rules.map { ["when": $0.when.ofrep, "value": $0.value] }),
        ]
        if let id = flag.experiment, let experiment = experiment(id), experiment.isRunning {
            members["split"] = [
                "salt": .string(id), "when": experiment.targeting.ofrep,
                "forced": .object(experiment.forced.mapValues { .string($0) }),
                "shares": .array(
                    experiment.variations.map { variation in
                        [
                            "variant": .string(variation.id), "weight": .int(variation.weight),
                            "value": flag.variations[variation.id] ?? flag.value,
                        ]
                    }
                ),
            ]
        }
        return .object(members)
    }
}

extension [World.Condition] {
    fileprivate var ofrep: FlagValue {
        .array(
            map { condition in
                [
                    "attribute": .string(condition.attribute), "comparison": .string(condition.comparison.rawValue),
                    "value": condition.value,
                ]
            }
        )
    }
}
