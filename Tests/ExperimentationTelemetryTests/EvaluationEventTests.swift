import Experimentation
import ExperimentationTelemetry
import ExperimentationTesting
import Logging
import Testing
import Tracing
import Waiting

/// A provider with a flag with a variant, one without, and an experiment.
func shop(_ flags: [InMemoryFlag] = []) -> InMemoryProvider {
    let experiment = InMemoryExperiment(
        Experiment(id: "exp-1"),
        arms: [.init(Variation(id: "b"), weight: 100, flags: ["color": "blue"])]
    )
    return InMemoryProvider(
        flags: [
            InMemoryFlag("checkout", variants: ["on": true, "off": false], defaultVariant: "on"),
            InMemoryFlag("color", variants: ["red": "red"], defaultVariant: "red"),
        ] + flags,
        experiments: [experiment],
        needsConsent: false
    )
}

/// A refreshed session of a client with telemetry.
func session(
    _ telemetry: Telemetry,
    _ provider: InMemoryProvider = shop(),
    options: ClientOptions = ClientOptions(),
    time: (any TimeSource)? = nil
) async throws -> (ExperimentationClient, UserSession) {
    let environment = time.map { ClientEnvironment(time: $0) } ?? ClientEnvironment()
    let client = try await ExperimentationClient(
        provider: provider,
        options: telemetry.added(to: options),
        environment: telemetry.added(to: environment)
    )
    let session = client.session(for: User(id: "u-1", consent: .granted))
    try await session.refresh()
    return (client, session)
}

@Suite("Events of evaluations and exposures")
struct EvaluationEventTests {
    /// Evaluates once and returns the event's metadata.
    private func told(
        _ options: TelemetryOptions = TelemetryOptions(),
        _ flags: [InMemoryFlag] = [],
        _ read: (UserSession) -> Void = { _ = $0.bool("checkout", default: false) }
    ) async throws -> [[String: String]] {
        let kept = Kept()
        let telemetry = Telemetry(logger: kept.logger(.info), options: options)
        let (client, session) = try await session(telemetry, shop(flags))
        read(session)
        #expect(await telemetry.flush())
        await client.shutdown()
        return kept.metadata.filter { $0["event.name"] == FlagAttribute.event }
    }

    @Test("a variant is sent without its value, and the user without an id")
    func variant() async throws {
        let told = try await told()
        let expected = [
            "event.name": "feature_flag.evaluation", "feature_flag.key": "checkout",
            "feature_flag.result.variant": "on", "feature_flag.result.reason": "static",
            "feature_flag.provider.name": "in-memory",
        ]
        #expect(told == [expected], "\(told)")
    }

    @Test(
        "names follow the chosen version of the conventions",
        arguments: [
            (FlagAttribute.Names.current, ["error.type", "feature_flag.error.message", "feature_flag.result.reason"]),
            (.beforeV1_40, ["error.message", "error.type", "feature_flag.result.reason"]),
            (.deprecated, ["error.type", "feature_flag.evaluation.error.message", "feature_flag.evaluation.reason"]),
        ]
    )
    func names(names: FlagAttribute.Names, expected: [String]) async throws {
        let told = try await told(TelemetryOptions(names: names)) { _ = $0.int("checkout", default: 1) }
        #expect(told.count == 1)
        let found = told.flatMap { $0.keys.filter { $0.contains("error") || $0.contains("reason") } }
        #expect(found.sorted() == expected)
        #expect(told.first?["error.type"] == "type_mismatch")
    }

    @Test("a missing flag has its default as the value, since it has no variant")
    func missing() async throws {
        let told = try await told { _ = $0.string("nowhere", default: "x") }
        #expect(told.first?["error.type"] == "flag_not_found")
        #expect(told.first?["feature_flag.result.value"] == "x")
        #expect(told.first?["feature_flag.result.variant"] == nil)
    }

    @Test("the vendor's metadata provides flag set, version and context")
    func metadata() async throws {
        var flag = InMemoryFlag("m", variants: ["a": 1], defaultVariant: "a")
        flag.metadata = ["flagSetId": "set-1", "version": 7, "contextId": "c-1"]
        let told = try await told(TelemetryOptions(ids: .plain), [flag]) { _ = $0.int("m", default: 0) }
        #expect(told.first?["feature_flag.set.id"] == "set-1")
        #expect(told.first?["feature_flag.version"] == "7")
        #expect(told.first?["feature_flag.context.id"] == "c-1")
    }

    @Test("ids are left out, digested with a key, or plain")
    func ids() async throws {
        let name = "feature_flag.context.id"
        let plain = try await told(TelemetryOptions(ids: .plain))
        #expect(plain.first?[name] == "u-1")
        let one = try await told(TelemetryOptions(ids: .digested(key: "k"))).first?[name]
        let same = try await told(TelemetryOptions(ids: .digested(key: "k"))).first?[name]
        let other = try await told(TelemetryOptions(ids: .digested(key: "l"))).first?[name]
        #expect(one?.count == 16)
        #expect(one == same)
        #expect(one != other)
    }

    @Test("attributes can be added, excluded and limited")
    func shaping() async throws {
        let options = TelemetryOptions(
            includesValues: true,
            excludedAttributes: ["feature_flag.result.reason", "feature_flag.key"],
            attributeMapper: {
                [
                    "team": .string("shop-\($0.flagKey)"), "error.type": "forged", "feature_flag.key": "forged",
                    "event.name": "forged",
                ]
            },
            characterLimit: 6,
            attributeLimit: 6
        )
        let flag = InMemoryFlag("object", variants: ["a": ["name": "a long text\u{1b}"]], defaultVariant: "a")
        let told = try await told(options, [flag]) { _ = $0.object("object", default: .null) }
        #expect(
            told == [
                [
                    "event.name": "feature_flag.evaluation", "feature_flag.key": "object",
                    "feature_flag.result.variant": "a", "feature_flag.result.value": "{\"name…",
                    "feature_flag.provider.name": "in-mem…", "error.type": "forged",
                ]
            ]
        )
    }

    @Test("a text may be cut within a character, which may have thousands of marks")
    func combiningMarks() async throws {
        let marks = { String(repeating: "\u{301}", count: $0) }
        let flag = InMemoryFlag("marks", variants: ["a": .string("e" + marks(10_000))], defaultVariant: "a")
        let told = try await told(TelemetryOptions(includesValues: true, characterLimit: 6), [flag]) {
            _ = $0.string("marks", default: "")
        }
        #expect(told.map { $0["feature_flag.result.value"] } == ["e" + marks(5) + "…"])
    }

    @Test("limits set later are kept in bounds like those given at first")
    func bounds() {
        var options = TelemetryOptions(
            characterLimit: -1,
            attributeLimit: -1,
            waitingLimit: -1,
            seriesLimit: -1,
            interval: .zero
        )
        func limits() -> [Int] {
            [options.characterLimit, options.attributeLimit, options.waitingLimit, options.seriesLimit]
        }
        #expect(limits() == [1, 1, 1, 1] && options.interval == .milliseconds(100))
        options.characterLimit = -1
        options.attributeLimit = 0
        options.waitingLimit = -1
        options.seriesLimit = 0
        options.interval = .zero
        #expect(limits() == [1, 1, 1, 1])
        #expect(options.interval == .milliseconds(100))
        options.characterLimit = 6
        options.interval = .seconds(1)
        #expect(options.characterLimit == 6 && options.interval == .seconds(1))
    }

    @Test("an exposure is a separate event, once however often the flag is read")
    func exposure() async throws {
        let kept = Kept()
        let telemetry = Telemetry(logger: kept.logger(.info))
        let (client, session) = try await session(telemetry)
        for _ in 0..<3 { _ = session.string("color", default: "") }
        await telemetry.flush()
        #expect(kept.metadata.count { $0["event.name"] == FlagAttribute.event } == 3)
        #expect(
            kept.metadata.filter { $0["event.name"] == Telemetry.exposureEvent } == [
                [
                    "event.name": "experimentation.exposure", "experimentation.experiment.id": "exp-1",
                    "experimentation.variation.id": "b", "feature_flag.key": "color",
                    "feature_flag.provider.name": "in-memory",
                ]
            ]
        )
        await client.shutdown()
    }

    @Test("an exposure of a user without a session is logged once")
    func exposureWithoutSession() async throws {
        let kept = Kept()
        let telemetry = Telemetry(logger: kept.logger(.info))
        let (client, _) = try await session(telemetry)
        let user = User(id: "u-2", consent: .granted)
        for _ in 0..<3 { _ = client.string("color", default: "", for: user) }
        await telemetry.flush()
        #expect(kept.metadata.count { $0["event.name"] == Telemetry.exposureEvent } == 1)
        await client.shutdown()
    }

    @Test("below the logger's level nothing is logged, and a level can be chosen")
    func level() async throws {
        let kept = Kept()
        let telemetry = Telemetry(
            logger: kept.logger(.notice),
            options: TelemetryOptions(evaluationLevel: .debug, exposureLevel: .error)
        )
        let (client, session) = try await session(telemetry)
        _ = session.string("color", default: "")
        await telemetry.flush()
        #expect(kept.all.map(\.message) == [Telemetry.exposureEvent])
        #expect(kept.all.map(\.level) == [.error])
        await client.shutdown()
    }

    @Test("the log has the trace of the task that read the flag")
    func traceOfReader() async throws {
        let kept = Kept()
        let provider = Logger.MetadataProvider { ["trace": "\(ServiceContext.current?.mark ?? "none")"] }
        let telemetry = Telemetry(logger: kept.logger(.info, provider: provider))
        let (client, session) = try await session(telemetry)
        var context = ServiceContext.topLevel
        context.mark = "t-1"
        ServiceContext.withValue(context) { _ = session.bool("checkout", default: false) }
        await telemetry.flush()
        #expect(kept.metadata.map { $0["trace"] } == ["t-1"])
        await client.shutdown()
    }

    @Test("a log that blocks delays no read; excess events are dropped and counted")
    func blockedLog() async throws {
        let gate = Gate()
        let kept = Kept(gate: gate)
        let telemetry = Telemetry(logger: kept.logger(.info), options: TelemetryOptions(waitingLimit: 10))
        let (client, session) = try await session(telemetry)
        _ = session.bool("checkout", default: false)
        // With stopped time, `flush` can't time out, so it isn't awaited yet.
        async let first = telemetry.flush(within: .seconds(60))
        try await eventually("the log holds the first event") { gate.comers == 1 }
        for _ in 0..<1_000 { #expect(session.bool("checkout", default: false)) }
        gate.open()
        #expect(await first)
        #expect(await telemetry.flush(within: .seconds(60)))
        let dropped = kept.all.filter { $0.metadata["event.name"] == "experimentation.telemetry.dropped" }
        #expect(dropped.map { $0.metadata["count"] } == ["990"])
        #expect(kept.metadata.count { $0["event.name"] == FlagAttribute.event } == 11)
        await client.shutdown()
    }
}

private enum MarkKey: ServiceContextKey { typealias Value = String }

extension ServiceContext {
    fileprivate var mark: String? {
        get { self[MarkKey.self] }
        set { self[MarkKey.self] = newValue }
    }
}
