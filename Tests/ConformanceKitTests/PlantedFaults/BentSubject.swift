import ConformanceKit
import ConformanceSubjects
import Experimentation
import Synchronization

/// The in-memory subject with planted faults.
struct BentSubject: ConformanceSubject {
    /// The faults by part; parts that aren't named work normally.
    struct Bend: Sendable {
        var capabilities = Set(Capability.all)
        var providerCapabilities: Set<Capability>?
        var wireFields = Set(Received.Field.allCases)
        var knownDeviations: [KnownDeviation] = []
        var secrets: [String] = []
        /// The parts of each world that this vendor can't represent.
        var gaps: @Sendable (World) -> [WorldGap] = { _ in [] }
        var open: (@Sendable (World) async throws -> Void)?
        var store: (@Sendable (ClientStore) -> ClientStore)?
        var isHeard: @Sendable () -> Bool = { true }
        /// Whether the vendor announces changes of its world.
        var tellsOfChanges = false
        /// What the console waits for after a change.
        var afterChange: @Sendable () async -> Void = {}
        var inject: @Sendable ([WorldFault]) throws -> Void = { _ in }
        var received: @Sendable ([Received]) throws -> [Received] = { $0 }
        var provider: @Sendable (any ExperimentationProvider, InMemoryStage) -> any ExperimentationProvider = {
            provider,
            _ in
            provider
        }
    }

    var bend: Bend

    var name: String { "bent" }
    var capabilities: Set<Capability> { bend.capabilities }
    var wireFields: Set<Received.Field> { bend.wireFields }
    var knownDeviations: [KnownDeviation] { bend.knownDeviations }

    func open(_ world: World) async throws -> any SubjectStage {
        try await bend.open?(world)
        return BentStage(inner: InMemoryStage(world), of: world, bend: bend)
    }

    func makeStore() async throws -> ClientStore {
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore())
        return bend.store?(store) ?? store
    }
}

struct BentStage: ForwardingStage {
    let stage: InMemoryStage
    let bend: BentSubject.Bend
    private let announcer = Announcer()
    private let world: WorldInUse

    init(inner: InMemoryStage, of world: World, bend: BentSubject.Bend) {
        stage = inner
        self.world = WorldInUse(world)
        self.bend = bend
    }

    var inner: any SubjectStage { stage }
    var secrets: [String] { bend.secrets }
    var isHeard: Bool { bend.isHeard() }
    var gaps: [WorldGap] { get async { await inner.gaps + bend.gaps(world.current) } }
    func makeProvider() async throws -> any ExperimentationProvider {
        let provider = try await inner.makeProvider()
        var bent = bend.provider(provider, stage)
        if bend.tellsOfChanges { bent = BentProvider(bent) { [announcer] roles, _ in roles.changes = announcer } }
        guard let capabilities = bend.providerCapabilities else { return bent }
        return BentProvider(bent, capabilities: capabilities)
    }
    func change(to world: World) async throws {
        self.world.set(world)
        try await inner.change(to: world)
        announcer.announce()
        await bend.afterChange()
    }
    func inject(_ faults: [WorldFault]) async throws {
        try bend.inject(faults)
        try await inner.inject(faults)
    }
    func received() async throws -> [Received] { try bend.received(try await inner.received()) }
}

/// The world of a stage.
private final class WorldInUse: Sendable {
    private let world: Mutex<World>

    init(_ world: World) { self.world = Mutex(world) }

    var current: World { world.withLock { $0 } }
    func set(_ world: World) { self.world.withLock { $0 = world } }
}

/// Notifies its listeners that the world has changed.
private final class Announcer: ChangeSource {
    private let listeners = Mutex<[AsyncStream<ChangeNotice>.Continuation]>([])

    func notices() -> AsyncStream<ChangeNotice> {
        let (stream, continuation) = AsyncStream<ChangeNotice>.makeStream()
        listeners.withLock { $0.append(continuation) }
        return stream
    }

    func setApplicationState(_ applicationState: ApplicationState) {}

    func announce() {
        for listener in listeners.withLock({ $0 }) { listener.yield(.changed) }
    }
}

/// A provider with changed roles.
struct BentProvider: ExperimentationProvider {
    var name: String
    var scope: String
    var capabilities: Set<Capability>
    private let inner: any ExperimentationProvider
    private let change: @Sendable (inout ProviderRoles, ProviderContext) -> Void

    init(
        _ inner: any ExperimentationProvider,
        capabilities: Set<Capability>? = nil,
        _ change: @escaping @Sendable (inout ProviderRoles, ProviderContext) -> Void = { _, _ in }
    ) {
        name = inner.name
        scope = inner.scope
        self.capabilities = capabilities ?? inner.capabilities
        self.inner = inner
        self.change = change
    }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await inner.start(in: context)
        change(&roles, context)
        return roles
    }
}

// MARK: - Decisions

struct BentRules: RulesetSource {
    typealias Fetch = @Sendable (any RulesetSource, String?) async throws(ExperimentationError) -> RulesetAnswer
    let inner: any RulesetSource
    var fetch: Fetch = { inner, validator async throws(ExperimentationError) in
        try await inner.ruleset(ifNot: validator)
    }
    var context: @Sendable (EvaluationContext) -> EvaluationContext = { $0 }
    var decisions: @Sendable (Decisions, EvaluationContext) -> Decisions = { decisions, _ in decisions }
    var lifetime: Duration?

    var freshness: Freshness {
        var freshness = inner.freshness
        if let lifetime { freshness.lifetime = lifetime }
        return freshness
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let answer = try await fetch(inner, validator)
        guard case .replaced(let rules, let validator, let raw) = answer else { return answer }
        return .replaced(bent(rules), validator: validator, raw: raw)
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        bent(try inner.ruleset(restoring: raw))
    }

    private func bent(_ rules: any Ruleset) -> any Ruleset {
        BentRuleset(inner: rules, context: context, decisions: decisions)
    }
}

struct BentRuleset: Ruleset {
    let inner: any Ruleset
    let context: @Sendable (EvaluationContext) -> EvaluationContext
    let decisions: @Sendable (Decisions, EvaluationContext) -> Decisions
    var catalogue: FlagCatalogue { inner.catalogue }
    func decisions(for context: EvaluationContext) -> Decisions {
        decisions(inner.decisions(for: self.context(context)), context)
    }
}

extension Decisions {
    /// The decisions with changed values.
    func mapValues(_ change: (FlagValue) -> FlagValue) -> Decisions {
        map(resolution: { resolution in
            var resolution = resolution
            resolution.value = change(resolution.value)
            return resolution
        })
    }

    /// The decisions with changed resolutions and assignments.
    func map(
        resolution: (Resolution) -> Resolution = { $0 },
        assignment: (Assignment) -> Assignment? = { $0 }
    ) -> Decisions {
        let places = assignments
        let kept = places.compactMap(assignment)
        return Decisions(
            flags: keys.compactMap { key in
                guard var found = self[key] else { return nil }
                found = resolution(found)
                found.assignment = found.assignment.flatMap { index in
                    let place = catalogue.assignments[index]
                    return assignment(place).flatMap { kept.firstIndex(of: $0) }
                }
                return (key: key, resolution: found)
            },
            assignments: kept
        )
    }
}

// MARK: - Events

struct BentSink: EventSink {
    typealias Send = @Sendable (any EventSink, [Envelope]) async -> DeliveryReport
    let inner: any EventSink
    var send: Send = { await $0.deliver($1) }
    var refuses: @Sendable (_ type: String) -> Bool = { _ in false }
    var batching: BatchPolicy { inner.batching }
    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        if refuses(event.type) { throw ExperimentationError(.unsupported, "bent has no word for \(event.type)") }
        try inner.check(event)
    }
    func deliver(_ batch: [Envelope]) async -> DeliveryReport { await send(inner, batch) }
}

/// Links without asking the vendor.
struct BentLinker: IdentityLinker {
    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
        var progress = progress
        progress.isComplete = true
        return progress
    }
}

/// Links with a changed step.
struct OtherLinker: IdentityLinker {
    typealias Step =
        @Sendable (any IdentityLinker, LinkProgress) async throws(ExperimentationError) -> LinkProgress
    let inner: any IdentityLinker
    let step: Step
    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
        try await step(inner, progress)
    }
}

extension BentSubject.Bend {
    /// Changes a step of linking.
    static func linking(_ step: @escaping OtherLinker.Step) -> Self {
        Self(provider: { provider, _ in
            BentProvider(provider) { roles, _ in
                if let identity = roles.identity { roles.identity = OtherLinker(inner: identity, step: step) }
            }
        })
    }

    /// Changes how rules are fetched.
    static func fetching(_ fetch: @escaping BentRules.Fetch) -> Self {
        rules { BentRules(inner: $0, fetch: fetch) }
    }

    /// Changes the decisions.
    static func deciding(_ change: @escaping @Sendable (Decisions, EvaluationContext) -> Decisions) -> Self {
        rules { BentRules(inner: $0, decisions: change) }
    }

    /// Changes the context that decisions are based on.
    static func knowing(_ change: @escaping @Sendable (EvaluationContext) -> EvaluationContext) -> Self {
        rules { BentRules(inner: $0, context: change) }
    }

    static func rules(_ make: @escaping @Sendable (any RulesetSource) -> BentRules) -> Self {
        Self(provider: { provider, _ in
            BentProvider(provider) { roles, _ in
                if case .computed(let source) = roles.decisions { roles.decisions = .computed(make(source)) }
            }
        })
    }

    /// Changes how events are sent.
    static func sending(_ send: @escaping BentSink.Send) -> Self { sending(by: { send }) }

    /// Takes some types of events and refuses the others; exposures and consent pass.
    static func taking(_ types: Set<String>, _ send: @escaping BentSink.Send = { await $0.deliver($1) }) -> Self {
        Self(provider: { provider, _ in
            BentProvider(provider) { roles, _ in
                guard let events = roles.events else { return }
                let known = types.union(["exposure", "consentChanged"])
                roles.events = BentSink(inner: events, send: send, refuses: { !known.contains($0) })
            }
        })
    }

    /// Changes how events are sent, by a function that is made for each provider.
    static func sending(by make: @escaping @Sendable () -> BentSink.Send) -> Self {
        Self(provider: { provider, _ in
            BentProvider(provider) { roles, _ in
                if let events = roles.events { roles.events = BentSink(inner: events, send: make()) }
            }
        })
    }

    /// Changes each event before it is sent.
    static func sending(each change: @escaping @Sendable (inout Envelope) -> Void) -> Self {
        sending { sink, batch in
            await sink.deliver(
                batch.map { envelope in
                    var envelope = envelope
                    change(&envelope)
                    return envelope
                }
            )
        }
    }

    /// Treats exchanges with a certain fault as successful.
    static func acknowledging(_ fault: String) -> Self {
        Self(provider: { provider, stage in
            BentProvider(provider) { roles, _ in
                guard let events = roles.events else { return }
                roles.events = BentSink(inner: events) { sink, batch in
                    let report = await sink.deliver(batch)
                    let last = try? await stage.exchanges().last { $0.purpose == .events || $0.purpose == .exposures }
                    return last?.fault == fault ? DeliveryReport(.delivered) : report
                }
            }
        })
    }

    /// Changes the verdicts on events.
    static func judging(_ change: @escaping @Sendable (Verdict) -> Verdict) -> Self {
        sending { sink, batch in
            var report = await sink.deliver(batch)
            report.verdicts = .each(report.verdicts(count: batch.count).map { $0.map(change) })
            return report
        }
    }

    /// Changes the outbox.
    static func keeping(_ change: BentOutbox.Change) -> Self {
        Self(store: { ClientStore(outbox: BentOutbox(base: $0.outbox, change: change), state: $0.state) })
    }
}
