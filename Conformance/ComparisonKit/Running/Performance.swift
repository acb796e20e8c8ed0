import ConformanceKit
import Experimentation
import Foundation

/// A run of a scenario with one vendor.
///
/// An actor, because steps run one after another and a hanging step is abandoned.
actor Performance {
    private let subject: any ConformanceSubject
    private let stage: any SubjectStage
    private let world: World
    private let gaps: [WorldGap]
    private let time = SuiteTime(speed: Performance.speed)
    private let outbox: StepwiseOutbox
    private let store: ClientStore
    private let environment: ClientEnvironment
    /// How many looks in a row must find nothing new on the wire.
    private let quietLooks: Int

    private var client: ExperimentationClient?
    /// Whether the step that is being played made the client.
    private var isNew = false
    private var session: UserSession?
    private var seenExchanges = 0
    private var seenConnections: Set<Int> = []
    private var ledger = Ledger()
    private var shares = Shares()
    private var observation = Observation()

    init(
        subject: any ConformanceSubject,
        stage: any SubjectStage,
        world: World,
        gaps: [WorldGap],
        roundTrip: Duration = .zero
    ) {
        // While a request is in progress, the wire isn't quiet.
        quietLooks = 3 + Int((roundTrip / .milliseconds(4)).rounded(.up)) * 2
        self.subject = subject
        self.stage = stage
        self.world = world
        self.gaps = gaps
        let kept = ClientStore.inMemory()
        outbox = StepwiseOutbox(kept.outbox)
        store = ClientStore(outbox: outbox, state: kept.state)
        let counter = Counter()
        // Ids of one length and a fixed jitter: the same scenario takes the same number of bytes every time.
        environment = ClientEnvironment(time: time, makeID: { counter.nextID() }, jitter: { 0.5 })
    }

    /// How fast time passes by itself: slowly, because a retry that becomes due while a slow machine settles a step
    /// would be counted in that step.
    private static let speed = 0.1

    /// Converts a limit of the machine's clock to the scenario's time.
    private static func limit(_ real: Duration) -> Duration { real * speed }

    /// The additional time allowed for each event that a step tracks or delivers; far more than needed.
    static let each = Duration.milliseconds(10)

    /// The number of waiting events that the next step may have to deliver.
    var pending: Int { ledger.pending }

    /// Grows while events are accepted or delivered.
    nonisolated var progress: Int { outbox.operations }

    /// Runs a step.
    func play(_ step: Scenario.Step, number: Int) async throws -> (outcome: StepOutcome, duration: Duration) {
        var outcome = StepOutcome(step: number)
        outcome.by = stage.parts.isEmpty ? nil : []
        var before = glimpse()
        if step.action.asksForReceived { before.received = try await stage.received().count }
        let start = ContinuousClock.now
        do {
            try await act(step.action, &outcome)
        } catch let error as ExperimentationError {
            outcome.kind = error.code == .unsupported ? .unsupported : .failed
            outcome.error = error.code.rawValue
            outcome.note = error.message
        } catch SubjectError.unsupported(let reason) {
            outcome.kind = .unsupported
            outcome.note = reason
        }
        let duration = start.duration(to: .now)
        try await settle(after: step.action)
        try await account(for: &outcome)
        observation.note(step.action, outcome, from: before, to: glimpse())
        return (outcome, duration)
    }

    /// Ends the run and completes the story.
    func conclude(_ story: inout VendorStory) async {
        let client = client
        _ = try? await Bounded.run(for: .seconds(5)) { await client?.shutdown(within: Self.limit(.milliseconds(200))) }
        story.ledger = (try? await store.outbox.ledger()) ?? ledger
        story.exchanges = (try? await stage.exchanges()) ?? []
        let received = (try? await stage.received()) ?? []
        let arrivals = Arrivals(
            delivered: outbox.delivered.map { Received($0) },
            received: received,
            fields: subject.wireFields,
            isDisturbed: story.exchanges.contains { $0.fault != nil || !(200..<400).contains($0.status ?? 0) }
        )
        story.received = arrivals.received
        story.repeated = arrivals.repeated
        story.lost = arrivals.lost
        let kept = (try? await outbox.kept()) ?? KeptEvents()
        story.findings = observation.findings(received: received, kept: kept)
    }

    // MARK: Steps

    private func act(_ action: Scenario.Action, _ outcome: inout StepOutcome) async throws {
        switch action {
        case .arrive(let userID): try await arrive(userID)
        case .refresh: try await current().refresh()
        case .read(let flag, let fallback): try read(flag, fallback, &outcome)
        case .see(let experiment): try see(experiment, &outcome)
        case .track(let events, let times):
            let session = try current()
            outbox.beginFilling()
            defer { outbox.endFilling() }
            for _ in 0..<times {
                for event in events { try await session.track(event) }
                // At different times, so that dates on the wire distinguish the events.
                if times > 1 { time.push(by: .milliseconds(1)) }
            }
        case .flush:
            let isDone = try await running().flush(
                within: Self.limit(.seconds(5) + Self.each * ledger.pending),
                retrying: false
            ).isDone
            if !isDone { outcome.note = "not all of it" }
        case .fault(let faults): try await stage.inject(faults)
        case .network(let isReachable):
            try await stage.setReachable(isReachable)
            outbox.setAway(!isReachable)
        case .killSwitch(let isOn): try await stage.setKillSwitch(isOn)
        case .consent(let consent): try await current().setConsent(consent)
        case .restart: try await restart()
        case .logIn(let user): try await logIn(user)
        case .wait(let seconds): time.push(by: .seconds(seconds))
        }
    }

    private func arrive(_ userID: String) async throws {
        guard let user = world.user(userID) else { throw SubjectError.broken("no user \(userID)") }
        if client == nil { client = try await makeClient() }
        session = try running().session(for: user)
    }

    private func restart() async throws {
        let user = try current().user
        await client?.shutdown(within: Self.limit(.milliseconds(500)))
        session = nil
        client = try await makeClient()
        session = try running().session(for: user)
    }

    private func logIn(_ user: User) async throws {
        let session = try current()
        var identity = user.identity
        // The user so far was the same user, before the log-in.
        if identity.anonymousID == nil { identity.anonymousID = session.user.anonymousID ?? session.user.id }
        try await session.link(to: identity)
        if !user.attributes.isEmpty { try session.update(user.attributes) }
        // The consent is unknown if the document doesn't name it.
        if user.consent != .unknown, session.user.consent != user.consent { try await session.setConsent(user.consent) }
    }

    private func makeClient() async throws -> ExperimentationClient {
        isNew = true
        return try await ExperimentationClient(
            provider: stage.makeProvider(),
            store: store,
            environment: environment
        )
    }

    /// Waits, for a few seconds at most, until a new client that polls has an answer: what it asks for by itself
    /// belongs to the step that started it.
    private func waitForRules() async {
        guard isNew, let client else { return }
        isNew = false
        guard case .computed(let source) = client.roles.decisions, source.freshness.polling != nil else { return }
        let deadline = ContinuousClock.now.advanced(by: .seconds(3))
        while client.status == .notReady, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(1), clock: .continuous)
        }
    }

    private func running() throws -> ExperimentationClient {
        guard let client else { throw SubjectError.broken("no user has arrived") }
        return client
    }

    private func current() throws -> UserSession {
        guard let session else { throw SubjectError.broken("no user has arrived") }
        return session
    }

    // MARK: Decisions

    private func read(_ key: String, _ fallback: FlagValue, _ outcome: inout StepOutcome) throws {
        let session = try current()
        outcome.evaluation = session.evaluation(of: key, type: world.flag(key)?.type, default: fallback)
        if let vendor = session.decisions[key]?.metadata["provider"]?.stringValue { outcome.by?.append(vendor) }
        if !subject.capabilities.contains(.flags) {
            outcome.kind = .unsupported
            outcome.note = subject.reasons[.flags] ?? "\(subject.name) has no flags"
        } else if let gap = gaps.first(where: { $0.covers("flags/\(key)") }) {
            outcome.kind = .unsupported
            outcome.note = gap.reason
        } else if outcome.evaluation?.reason == Reason.split.rawValue {
            outcome.note = subject.variationCaveat
        }
    }

    private func see(_ id: String, _ outcome: inout StepOutcome) throws {
        guard subject.capabilities.contains(.experiments) else {
            throw SubjectError.unsupported(subject.reasons[.experiments] ?? "\(subject.name) has no experiments")
        }
        if let gap = gaps.first(where: { $0.path == "experiments" || $0.path == "experiments/\(id)" }) {
            throw SubjectError.unsupported(gap.reason)
        }
        let session = try current()
        let names = [id, world.experiment(id)?.name]
        let place = session.assignments.first { assignment in
            names.contains(assignment.experiment.id) || names.contains(assignment.experiment.name)
        }
        if let place {
            outcome.assignment = StepOutcome.Place(
                experiment: place.experiment.id,
                variation: place.variation.name,
                isControl: place.variation.isControl,
                origin: place.origin.rawValue
            )
            outcome.note = subject.variationCaveat
            if let vendor = place.metadata["provider"]?.stringValue { outcome.by?.append(vendor) }
        }
        // The user has an assignment all the same; the capability matrix says that exposures aren't reported.
        if let place, let client, !client.supports(TrackingEvent(.exposure(Exposure(assignment: place)))) { return }
        try session.expose(place?.experiment.id ?? id)
    }

    // MARK: Accounts

    private func glimpse() -> Glimpse {
        var glimpse = Glimpse(pending: ledger.pending)
        guard let session else { return glimpse }
        let decisions = session.decisions
        glimpse.identity = session.user.identity
        for key in decisions.keys { glimpse.values[key] = decisions[key]?.value }
        for place in decisions.assignments { glimpse.places[place.experiment.id] = place.variation.id }
        return glimpse
    }

    /// Waits until the wire is quiet: what a step triggers in the background belongs to it.
    private func settle(after action: Scenario.Action) async throws {
        await waitForRules()
        var quiet = 0
        // A delivery that time has woken can't be seen until it holds a lease; other processes may delay its thread.
        let least = if case .wait = action { quietLooks + 12 } else { quietLooks }
        var needed = least
        var before = -1
        let deadline = ContinuousClock.now.advanced(by: .seconds(10))
        while quiet < needed, ContinuousClock.now < deadline {
            let start = ContinuousClock.now
            try await Task.sleep(for: .milliseconds(4), clock: .continuous)
            // On a machine that wakes this task late, the client's tasks and threads are late as well: that look proves
            // nothing, and the others prove less.
            let isOnTime = start.duration(to: .now) < .milliseconds(8)
            if !isOnTime { needed = min(needed + 3, least + 30) }
            let count = try await stage.exchangeCount()
            let leased = client == nil ? 0 : try await store.outbox.status(now: time.now).leased
            let isQuiet = count == before && leased == 0 && !time.hasDueSleepers
            if !isQuiet { quiet = 0 } else if isOnTime { quiet += 1 }
            before = count
        }
    }

    /// The vendors that took part in what happened since the last step.
    private func shares(in ledgers: [Destination: Ledger]) async throws -> [String] {
        let parts = stage.parts
        var counts: [String: Int] = [:]
        for part in parts { counts[part.name] = try await part.stage.exchangeCount() }
        return shares.next(parts, counts, ledgers)
    }

    private func account(for outcome: inout StepOutcome) async throws {
        let exchanges = try await stage.exchanges(from: seenExchanges)
        for exchange in exchanges {
            let isNew = seenConnections.insert(exchange.connection).inserted
            outcome.traffic.add(
                Traffic(
                    requests: 1,
                    bytesSent: exchange.bytesIn,
                    bytesReceived: exchange.bytesOut,
                    connections: isNew ? 1 : 0
                )
            )
            outcome.exchanges.append(exchange.number)
        }
        seenExchanges += exchanges.count
        // The client's ledger includes pending notes; after a restart, without a client, the store's has to do.
        let now: Ledger
        if let client { now = try await client.ledger() } else { now = try await store.outbox.ledger() }
        outcome.events = EventCount(from: ledger, to: now)
        ledger = now
        if outcome.by != nil {
            let active = try await shares(in: try await client?.ledgers() ?? [:])
            // If the vendors that answered are known already, later activity of others isn't part of the answer.
            if outcome.by == [] { outcome.by = active }
        }
        outcome.status = session?.status ?? .notReady
    }
}
