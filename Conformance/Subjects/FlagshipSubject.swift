import AdapterKit
import ConformanceKit
import ConformanceStages
import Experimentation
import FlagshipAdapter
import Foundation
import MockVendors

/// Flagship's adapter in one of its modes, with its mock.
public struct FlagshipSubject: ConformanceSubject {
    /// Where campaigns are decided.
    public let mode: FlagshipConfiguration.Mode

    private let transport: (any HTTPTransport)?

    /// Creates the subject.
    ///
    /// - Parameters:
    ///   - mode: Where campaigns are decided.
    ///   - transport: Sends requests; the platform's own if `nil`.
    public init(mode: FlagshipConfiguration.Mode = .decisionAPI, transport: (any HTTPTransport)? = nil) {
        self.mode = mode
        self.transport = transport
    }

    /// `flagship`, or `flagship-bucketing` in bucketing mode.
    public var name: String { mode == .decisionAPI ? "flagship" : "flagship-bucketing" }

    /// The capabilities declared in this mode.
    public var capabilities: Set<Capability> {
        FlagshipProvider(configuration: FlagshipConfiguration(environmentID: "any", apiKey: "any", mode: mode))
            .capabilities
    }

    /// Why the other capabilities are missing.
    public var reasons: [Capability: String] {
        [
            .localEvaluation: "In this mode the Decision API decides; flagship-bucketing decides here",
            .dateTargeting: "Flagship's operators compare numbers and texts, not dates",
            .versionTargeting: "Flagship's SDKs know no operator for versions",
            .layers: "Flagship has no layers; an account can only be set to one test for each visitor",
            .holdouts: "Flagship has no holdouts",
            .overrides: "Flagship has no assignments that a device could force",
            .commerce: "Flagship has transactions, but no views of items and no carts",
            .eventIDs: "Flagship's hits have no id",
            .identityLinking: "Flagship takes both ids with every request; there is nothing to link",
            .campaigns: "Flagship doesn't answer events with campaigns",
        ]
    }

    /// The fields that hits and exposures carry.
    public var wireFields: Set<Received.Field> {
        [.userID, .anonymousID, .name, .value, .experiment, .orderID, .items, .date]
    }

    /// Why the other fields aren't carried.
    public var wireReasons: [Received.Field: String] {
        [.attributes: "Flagship's hits have fixed members, and none for what an application adds"]
    }

    /// A goal is sent as an event with the action's name.
    public var wireTypes: [String: String] { ["goalCompleted": "custom"] }

    /// Where the adapter keeps Flagship's behavior instead of the neutral contract's.
    public var knownDeviations: [KnownDeviation] {
        let collector =
            "Flagship's collector says with its status alone that it took a hit; what its body holds is nothing to it"
        var known = [
            KnownDeviation("outages/not-delivered-by-garbage", reason: collector),
            KnownDeviation("outages/not-delivered-by-a-truncated-answer", reason: collector),
            KnownDeviation(
                "experiments/forced-by-the-vendor",
                reason: "Flagship aims at users by their ids, but doesn't say that it did"
            ),
        ]
        if mode == .bucketing {
            let unchanged = "an unchanged file is confirmed by a 304, which has no body that could be spoilt"
            known += ["truncated", "short"].map {
                KnownDeviation("caching/outlives-a-\($0)-answer", reason: unchanged)
            }
        }
        return known
    }

    /// Starts the mock with a world.
    public func open(_ world: World) async throws -> any SubjectStage {
        try await MockStage(FlagshipMock(), wire: wire, world: world)
    }

    private var wire: MockWire<FlagshipMock> {
        let (mode, transport) = (mode, transport)
        return MockWire(
            operations: [
                .decisions: [mode == .decisionAPI ? "campaigns" : "bucketing"], .events: ["hits"],
                .exposures: ["activate"],
            ],
            contentType: "application/json",
            secrets: [FlagshipMock().apiKey],
            load: { mock, world in
                let (file, gaps) = FlagshipWorld.file(of: world)
                try await mock.load(Data(file.utf8))
                return gaps
            },
            makeProvider: { server in
                FlagshipProvider(
                    configuration: try Self.configuration(of: server, mode: mode),
                    transport: transport
                )
            },
            received: { mock, journal in
                FlagshipWorld.received(await mock.receivedInOrder, journal: journal)
            },
            takeReceived: { mock, journal in
                // The case has more users than the mock remembers; one that it has forgotten gets the same place again.
                await mock.setRemembered(visitors: 20_000)
                return FlagshipWorld.received(await mock.takeReceived(), journal: journal)
            },
            setKillSwitch: { mock, isOn in await mock.setPanic(isOn) }
        )
    }

    /// A configuration for a running mock, with the pauses of a test.
    private static func configuration(
        of server: MockServer,
        mode: FlagshipConfiguration.Mode
    ) throws -> FlagshipConfiguration {
        let endpoints = server.endpoints
        let credentials = server.vendor.credentials
        return FlagshipConfiguration(
            environmentID: credentials["environmentID"] ?? "",
            apiKey: Secret(credentials["apiKey"] ?? ""),
            mode: mode,
            endpoints: FlagshipConfiguration.Endpoints(
                decision: try Endpoint(endpoints["decision"] ?? ""),
                cdn: try Endpoint(endpoints["cdn"] ?? ""),
                events: try Endpoint(endpoints["events"] ?? "")
            ),
            timeout: server.patience,
            transferTimeout: server.patience,
            retry: HTTPRetry(attempts: 3, backoff: Backoff(first: .milliseconds(5), longest: .milliseconds(20)))
        )
    }
}
