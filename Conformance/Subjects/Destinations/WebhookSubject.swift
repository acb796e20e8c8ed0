import AdapterKit
import ConformanceKit
import ConformanceStages
import Experimentation
import ExperimentationComposition
import MockVendors

/// The webhook, with a receiver that verifies its signatures.
public struct WebhookSubject: ConformanceSubject {
    private let transport: (any HTTPTransport)?

    /// Creates the subject.
    ///
    /// - Parameter transport: Sends requests; the platform's own if `nil`.
    public init(transport: (any HTTPTransport)? = nil) { self.transport = transport }

    /// The destination's name.
    public var name: String { WebhookMock.name }

    /// The declared capabilities.
    public var capabilities: Set<Capability> { Capability.ofDestinations }

    /// Why the other capabilities are missing.
    public var reasons: [Capability: String] { Capability.missingOfDestinations("a webhook") }

    /// Every field: an event is written whole.
    public var wireFields: Set<Received.Field> { Set(Received.Field.allCases) }

    /// From the published rules for webhooks, and from this project's own schema of an event.
    public var evidence: Evidence {
        Evidence(
            of: WebhookMock.self,
            Dictionary(uniqueKeysWithValues: capabilities.map { ($0, Provenance.documented) })
        )
    }

    /// Starts a receiver.
    public func open(_ world: World) async throws -> any SubjectStage {
        try await MockStage(WebhookMock(), wire: wire, world: world)
    }

    private var wire: MockWire<WebhookMock> {
        let transport = transport
        return MockWire(
            operations: [.events: ["batch"]],
            contentType: "application/json",
            secrets: [WebhookMock.secret],
            load: { _, world in WorldGap.ofDestinations(in: world, "a webhook") },
            makeProvider: { server in
                var configuration = WebhookConfiguration(
                    endpoint: try Endpoint(server.endpoints["endpoint"] ?? ""),
                    secret: Secret(WebhookMock.secret)
                )
                configuration.timeout = server.patience
                return WebhookProvider(configuration: configuration, transport: transport)
            },
            received: { mock, journal in try Self.received(mock.batches, journal) },
            takeReceived: { mock, journal in try Self.received(mock.takeBatches(), journal) }
        )
    }

    /// The events of batches, each with the number of the exchange that carried it: a repetition has the same id, so the
    /// batches of an id are matched with its exchanges in their order.
    private static func received(_ batches: [WebhookMock.Batch], _ journal: [JournalEntry]) throws -> [Received] {
        var numbers: [String: ArraySlice<Int>] = [:]
        for entry in journal where entry.operation == "batch" && entry.hasReachedReceiver {
            guard let id = entry.request.header("webhook-id") else { continue }
            numbers[id, default: []].append(entry.number)
        }
        return try batches.flatMap { batch in
            let number = numbers[batch.id]?.popFirst() ?? 0
            return try batch.events.map { try Received(json: $0, exchange: number) }
        }
    }
}

extension JournalEntry {
    /// Whether the receiver saw the request before anything went wrong.
    var hasReachedReceiver: Bool {
        switch fault {
        case nil, .delay, .stall, .resetAfterApplying, .truncate, .wrongLength, .drip: true
        default: false
        }
    }
}

extension Capability {
    /// The capabilities of a destination that belongs to no vendor.
    static let ofDestinations: Set<Capability> = [
        .tracking, .exposures, .commerce, .batching, .eventIDs, .consentSignal,
    ]

    /// Why such a destination lacks the other capabilities.
    static func missingOfDestinations(_ what: String) -> [Capability: String] {
        var reasons: [Capability: String] = [:]
        for capability in Capability.all where !ofDestinations.contains(capability) {
            reasons[capability] = "\(what) takes events, and decides nothing"
        }
        reasons[.identityLinking] = "\(what) gets both ids with every event; there is nothing to link"
        reasons[.campaigns] = "\(what) answers no event with a campaign"
        reasons[.killSwitch] = "\(what) has no kill switch"
        return reasons
    }
}

extension WorldGap {
    /// The parts of a world that a destination that belongs to no vendor can't represent.
    static func ofDestinations(in world: World, _ what: String) -> [WorldGap] {
        var gaps: [WorldGap] = []
        if !world.flags.isEmpty { gaps.append(WorldGap("flags", "\(what) has no flags")) }
        if !world.experiments.isEmpty { gaps.append(WorldGap("experiments", "\(what) has no experiments")) }
        if !world.holdouts.isEmpty { gaps.append(WorldGap("holdouts", "\(what) has no holdouts")) }
        if !world.campaigns.isEmpty { gaps.append(WorldGap("campaigns", "\(what) has no campaigns")) }
        return gaps
    }
}
