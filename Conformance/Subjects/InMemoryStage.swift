import ConformanceKit
import Experimentation
import ExperimentationTesting
import Synchronization

/// A stage without vendor and wire: faults are injected between the client and the in-memory provider.
public final class InMemoryStage: SubjectStage {
    struct State {
        var world: World
        var faults: [WorldFault] = []
        var isReachable = true
        var isDisabled = false
        var received: [Received] = []
        var exchanges: [Exchange] = []
        var forgotten = 0
        var rules: [[UInt8]: any Ruleset] = [:]
    }

    /// The fate of an exchange.
    enum Passage {
        /// It passes, after a delay.
        case through(milliseconds: Int)
        /// The vendor applies it, but gives no good answer.
        case appliedWithoutAnswer(ExperimentationError, Verdict)
        /// It doesn't reach the vendor.
        case lost(ExperimentationError, Verdict)
        /// It hangs until the deadline.
        case stalled
    }

    /// The provider behind the stage; its state outlives the providers that the client sees.
    public let backend: InMemoryProvider
    let state: Mutex<State>

    /// Creates a stage.
    public init(_ world: World) {
        backend = InMemoryProvider(
            flags: world.inMemoryFlags,
            experiments: world.inMemoryExperiments,
            batching: BatchPolicy(count: 10, interval: .seconds(5))
        )
        state = Mutex(State(world: world))
        apply(world)
    }

    /// The parts of the world that the in-memory provider can't represent.
    public var gaps: [WorldGap] {
        state.withLock { state in
            state.world.flags.filter(\.isMalformed).map {
                WorldGap("flags/\($0.key)", "the in-memory provider has no records that could be malformed")
            }
        }
    }

    /// Creates a provider for the same back end.
    public func makeProvider() async throws -> any ExperimentationProvider {
        StagedProvider(stage: self)
    }

    /// Changes the world.
    public func change(to world: World) async throws {
        state.withLock { $0.world = world }
        backend.replace(flags: world.inMemoryFlags, experiments: world.inMemoryExperiments)
        apply(world)
    }

    private func apply(_ world: World) {
        if world.isKillSwitchOn { setDisabled(true) }
        backend.setCampaigns { world.campaigns(answering: $0) }
    }

    private func setDisabled(_ isDisabled: Bool) {
        state.withLock { $0.isDisabled = isDisabled }
        backend.setDisabled(isDisabled)
    }

    /// Appends faults to the script.
    public func inject(_ faults: [WorldFault]) async throws { state.withLock { $0.faults += faults } }
    /// Removes the pending faults.
    public func clearFaults() async throws { state.withLock { $0.faults = [] } }
    /// Turns the kill switch on or off.
    public func setKillSwitch(_ isOn: Bool) async throws { setDisabled(isOn) }
    /// Takes the vendor off the network, or restores it.
    public func setReachable(_ isReachable: Bool) async throws { state.withLock { $0.isReachable = isReachable } }
    /// The events that the vendor accepted.
    public func received() async throws -> [Received] { state.withLock { $0.received } }
    /// The events accepted since the last call.
    public func takeReceived() async throws -> [Received]? {
        backend.clearRecord()
        return state.withLock { state in
            defer {
                state.forgotten += state.exchanges.count
                (state.received, state.exchanges) = ([], [])
            }
            return state.received
        }
    }
    /// Every exchange.
    public func exchanges() async throws -> [Exchange] { state.withLock { $0.exchanges } }
    /// Does nothing: there is nothing to stop.
    public func close() async {}

    // MARK: Faults

    /// Records an exchange and returns its fate.
    ///
    /// - Parameters:
    ///   - purpose: The purpose.
    ///   - operation: The name of the operation.
    ///   - text: The content.
    /// - Returns: The exchange's number and fate.
    func enter(
        _ purpose: WorldFault.Operation,
        _ operation: String,
        holding text: String = ""
    ) -> (number: Int, passage: Passage) {
        state.withLock { state in
            let number = state.forgotten + state.exchanges.count + 1
            var exchange = Exchange(
                number: number,
                purpose: purpose,
                operation: operation,
                method: "CALL",
                path: "/\(operation)",
                status: 200
            )
            guard state.isReachable else {
                // An unreachable vendor records nothing.
                let error = ExperimentationError(.transport, "The vendor can't be reached.")
                return (0, .lost(error, .outage()))
            }
            let fault = state.faults.take(for: purpose, holding: text)
            exchange.fault = fault?.kind.name
            let passage = fault.map { Self.passage(of: $0.kind) } ?? .through(milliseconds: 0)
            if case .status(let status, _) = fault?.kind { exchange.status = status }
            if case .stalled = passage { exchange.status = nil }
            state.exchanges.append(exchange)
            return (number, passage)
        }
    }

    private static func passage(of kind: WorldFault.Kind) -> Passage {
        func broken(_ message: String) -> Passage {
            .lost(ExperimentationError(.transport, message), .outage())
        }
        switch kind {
        case .status(let status, let retryAfter):
            let wait = retryAfter.map { Duration.seconds($0) }
            let error = ExperimentationError(
                status == 401 || status == 403 ? .unauthorized : .vendorFault,
                "status \(status)"
            )
            switch status {
            case 401, 403: return .lost(error, .stop(error))
            case 413: return .lost(error, .split("too large"))
            case 408, 425, 429, 500...: return .lost(error, .outage(after: wait))
            case 400..<500: return .lost(error, .failed("status \(status)"))
            default: return .lost(error, .outage(after: wait))
            }
        case .delay(let milliseconds): return .through(milliseconds: milliseconds)
        case .stall: return .stalled
        case .reset: return broken("The connection was reset.")
        case .resetAfterApplying, .truncate, .wrongLength:
            return .appliedWithoutAnswer(ExperimentationError(.transport, "The answer is incomplete."), .outage())
        case .redirect: return broken("The vendor redirects.")
        case .garbage, .html200, .vendorFailure200, .oversized:
            return .lost(ExperimentationError(.parseError, "The answer can't be read."), .outage())
        }
    }
}

/// The provider of an ``InMemoryStage``, as the client sees it.
struct StagedProvider: ExperimentationProvider {
    let stage: InMemoryStage

    var name: String { stage.backend.name }
    var scope: String { "stage" }
    var capabilities: Set<Capability> { stage.backend.capabilities }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        let part = StagedPart(stage: stage, time: context.environment.time)
        var roles = try await stage.backend.start(in: context)
        if case .computed(let source) = roles.decisions {
            roles.decisions = .computed(StagedRules(source: source, part: part))
        }
        if let events = roles.events { roles.events = StagedSink(sink: events, part: part) }
        // Changes only become visible with the next refresh.
        roles.changes = nil
        if let identity = roles.identity { roles.identity = StagedLinker(linker: identity, part: part) }
        return roles
    }
}

/// Plays exchanges for all roles.
private struct StagedPart: Sendable {
    let stage: InMemoryStage
    let time: any TimeSource

    func wait(milliseconds: Int) async {
        guard milliseconds > 0 else { return }
        try? await time.sleep(for: .milliseconds(milliseconds))
    }

    func stall() async -> ExperimentationError {
        try? await time.sleep(for: .seconds(2))
        return ExperimentationError(.timeout, "The vendor did not answer within two seconds.")
    }
}

private struct StagedRules: RulesetSource {
    let source: any RulesetSource
    let part: StagedPart
    var freshness: Freshness {
        var freshness = source.freshness
        if let lifetime = part.stage.state.withLock({ $0.world.lifetime }) { freshness.lifetime = .seconds(lifetime) }
        return freshness
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        switch part.stage.enter(.decisions, "rules").passage {
        case .through(let milliseconds): await part.wait(milliseconds: milliseconds)
        case .lost(let error, _), .appliedWithoutAnswer(let error, _): throw error
        case .stalled: throw await part.stall()
        }
        let answer = try await source.ruleset(ifNot: validator)
        if case .replaced(let rules, _, let raw) = answer { part.stage.state.withLock { $0.rules[raw] = rules } }
        return answer
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        // The stored ruleset applies, even if the world has changed since.
        if let rules = part.stage.state.withLock({ $0.rules[raw] }) { return rules }
        return try source.ruleset(restoring: raw)
    }
}

private struct StagedSink: EventSink {
    let sink: any EventSink
    let part: StagedPart
    var batching: BatchPolicy { sink.batching }
    func check(_ event: TrackingEvent) throws(ExperimentationError) { try sink.check(event) }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        let isExposures = batch.allSatisfy { $0.event.type == "exposure" }
        let text = batch.map { "\($0.event.kind)" }.joined()
        let (number, passage) = part.stage.enter(isExposures ? .exposures : .events, "events", holding: text)
        switch passage {
        case .through(let milliseconds):
            await part.wait(milliseconds: milliseconds)
            return await apply(batch, number)
        case .lost(_, let verdict): return DeliveryReport(verdict)
        case .appliedWithoutAnswer(_, let verdict):
            _ = await apply(batch, number)
            return DeliveryReport(verdict)
        case .stalled:
            _ = await part.stall()
            return DeliveryReport(.outage())
        }
    }

    private func apply(_ batch: [Envelope], _ number: Int) async -> DeliveryReport {
        // A vendor that is switched off takes nothing, and says why.
        if part.stage.state.withLock({ $0.isDisabled }) {
            var report = DeliveryReport(noAnswerTo: batch.count)
            report.isDisabled = true
            return report
        }
        let report = await sink.deliver(batch)
        part.stage.state.withLock { state in
            for (envelope, verdict) in zip(batch, report.verdicts(count: batch.count)) where verdict == .delivered {
                state.received.append(Received(envelope, exchange: number))
            }
        }
        return report
    }
}

private struct StagedLinker: IdentityLinker {
    let linker: any IdentityLinker
    let part: StagedPart
    private static let announced = Array("announced".utf8)

    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
        // Two steps: the link is sent to the vendor, and then the vendor joins the two users.
        let isAnnounced = progress.notes == Self.announced
        let (number, passage) = part.stage.enter(.identity, isAnnounced ? "join" : "announce")
        switch passage {
        case .through(let milliseconds): await part.wait(milliseconds: milliseconds)
        case .lost(let error, _): throw error
        case .appliedWithoutAnswer(let error, _):
            if isAnnounced { _ = try await linker.advance(progress) }
            throw error
        case .stalled: throw await part.stall()
        }
        guard isAnnounced else {
            var next = progress
            next.notes = Self.announced
            return next
        }
        let next = try await linker.advance(progress)
        part.stage.state.withLock { state in
            state.received.append(
                Received(type: "identity", userID: next.to.id, anonymousID: next.from.id, exchange: number)
            )
        }
        return next
    }
}
