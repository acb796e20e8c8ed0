import Experimentation
import Synchronization

/// What the steps of a case hold in their hands: a client in front of the subject, its vendor, time, and expectations.
public final class Probe: Sendable {
    /// The subject.
    public let subject: any ConformanceSubject
    /// The vendor's stand-in.
    public let stage: any SubjectStage
    /// The world that the case started from.
    public let world: World
    /// Time, to be pushed.
    public let time: SuiteTime
    /// What the client and the provider log.
    public let log: LogRecorder

    struct State {
        var client: ExperimentationClient?
        var provider: (any ExperimentationProvider)?
        var store: ClientStore
        var cut: CutStore?
        var options = ClientOptions()
        var steps: [String] = []
        var failures: [Failure] = []
        var expectations = 0
        var killed: [ExperimentationClient] = []
        var companion: StrangeProvider?
        /// Opens the same stores as a new process would; `nil` for those that live in memory.
        var reopen: (@Sendable () async throws -> ClientStore?)?
        var isRestarted = false
        var wrap: @Sendable (ClientStore) -> ClientStore = { $0 }
    }

    let state: Mutex<State>
    private let ids = CaseIDs()

    /// Creates a probe on a stage.
    ///
    /// - Parameters:
    ///   - subject: The subject.
    ///   - stage: Its opened stage.
    ///   - world: The world that the stage was opened with.
    ///   - store: What survives a restart; in memory unless another is given.
    public init(
        subject: any ConformanceSubject,
        stage: any SubjectStage,
        world: World,
        store: ClientStore = ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore())
    ) {
        self.subject = subject
        self.stage = stage
        self.world = world
        state = Mutex(State(store: store))
        time = SuiteTime()
        log = LogRecorder()
    }

    /// The time, ids, chance and log of this case; every id is told apart, and chance is always one half.
    public var environment: ClientEnvironment {
        ClientEnvironment(
            time: time,
            // The probe holds the client, which holds this: captured by itself, neither would ever be released.
            makeID: { [ids] in ids.next() },
            jitter: { 0.5 },
            log: log
        )
    }

    // MARK: The client

    /// The client; made at the first call.
    ///
    /// - Parameter options: How it behaves; counts at the first call and after a restart.
    /// - Returns: The client that is in use.
    /// - Throws: Why the provider can't be made or started.
    public func client(_ options: ClientOptions? = nil) async throws -> ExperimentationClient {
        if let client = state.withLock({ $0.client }) { return client }
        if let options { state.withLock { $0.options = options } }
        let environment = environment
        let (isRestarted, reopen) = state.withLock { ($0.isRestarted, $0.reopen) }
        if isRestarted, let opened = try await reopen?() { state.withLock { $0.store = opened } }
        let (store, companion, wrap) = state.withLock { ($0.store, $0.companion, $0.wrap) }
        let cut = CutStore(wrap(store))
        var provider = try await stage.makeProvider()
        if let companion { provider = AccompaniedProvider(inner: provider, companion: companion) }
        let client = try await ExperimentationClient(
            provider: provider,
            store: cut.clientStore,
            options: state.withLock { $0.options },
            environment: environment
        )
        state.withLock { state in
            state.client = client
            state.provider = provider
            state.cut = cut
        }
        return client
    }

    /// Kills the process without a warning and starts another on the same store.
    ///
    /// - Parameter options: How the new client behaves; as the old one if `nil`.
    /// - Returns: The new client.
    /// - Throws: Why the provider can't be made or started.
    @discardableResult
    public func kill(andStartWith options: ClientOptions? = nil) async throws -> ExperimentationClient {
        note("kill the process and start another on the same store")
        state.withLock { state in
            state.cut?.cut()
            if let client = state.client { state.killed.append(client) }
            state.client = nil
            state.isRestarted = true
        }
        return try await client(options)
    }

    /// Shuts the client down and starts another on the same store.
    ///
    /// - Parameter options: How the new client behaves; as the old one if `nil`.
    /// - Returns: The new client.
    /// - Throws: Why the provider can't be made or started.
    @discardableResult
    public func restart(with options: ClientOptions? = nil) async throws -> ExperimentationClient {
        note("shut down and start again on the same store")
        let client = state.withLock { state in
            defer { state.client = nil }
            state.isRestarted = true
            return state.client
        }
        await client?.shutdown(within: .seconds(2))
        return try await self.client(options)
    }

    /// How many requests for decisions there were when the client had started: one that computes decisions may ask by
    /// itself.
    ///
    /// - Returns: The number, once they are answered.
    /// - Throws: Why the provider can't be made or started.
    public func requestsAtStart() async throws -> Int {
        try await waitForStart()
        return try await exchanges(.decisions).count
    }

    /// Waits, for a few seconds at most, until a client that asks by itself has an answer.
    private func waitForStart() async throws {
        let client = try await client()
        guard case .computed(let source) = try await roles().decisions, source.freshness.polling != nil else {
            return
        }
        let deadline = ContinuousClock.now.advanced(by: .seconds(3))
        while client.status == .notReady, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(1), clock: .continuous)
        }
    }

    /// A session for a user, without decisions.
    public func session(for user: User = .ada) async throws -> UserSession {
        try await client().session(for: user)
    }

    /// A session for a user, with decisions from the vendor.
    public func readySession(for user: User = .ada) async throws -> UserSession {
        let session = try await session(for: user)
        try await waitForStart()
        note("refresh \(user.id)")
        try await session.refresh()
        return session
    }

    /// Refreshes and gives the error instead of throwing it.
    @discardableResult
    public func refresh(_ session: UserSession, force: Bool = true) async -> ExperimentationError? {
        note("refresh \(session.user.id)")
        do throws(ExperimentationError) {
            try await session.refresh(force: force)
            return nil
        } catch {
            note("the refresh says \(error.code)")
            return error
        }
    }

    // MARK: Delivery

    /// Tracks an event.
    public func track(_ event: TrackingEvent, in session: UserSession) async throws {
        note("track \(event.type) for \(session.user.id)")
        try await session.track(event)
    }

    /// Delivers what can be delivered now.
    @discardableResult
    public func flush(within limit: Duration = .seconds(5)) async throws -> Bool {
        note("flush")
        return try await client().flush(within: limit).isDone
    }

    /// Has everything that waits tried once, and waits until it has been; what fails isn't tried again here.
    ///
    /// - Parameter limit: How long to wait for the vendor at most.
    /// - Throws: When the store fails.
    public func tryOnce(within limit: Duration = .seconds(2)) async throws {
        note("try once")
        _ = try await client().flush(within: limit, retrying: false)
    }

    /// Pushes time and delivers until nothing waits but what is held, for at most some rounds.
    ///
    /// - Parameters:
    ///   - rounds: How often to push at most.
    ///   - step: How far each time.
    /// - Returns: The ledger at the end.
    /// - Throws: When the store fails.
    @discardableResult
    public func deliverAll(rounds: Int = 8, pushing step: Duration = .seconds(120)) async throws -> Ledger {
        note("deliver all that waits")
        let client = try await client()
        for _ in 0..<rounds {
            _ = try await client.flush(within: .seconds(5), retrying: false)
            let status = try await client.outboxStatus()
            if status.ready + status.delayed + status.leased == 0 { break }
            time.push(by: step)
        }
        return try await stage.ledger(of: client)
    }

    /// How long the client waits before it tries again what has failed since a moment.
    ///
    /// - Parameter moment: A moment before the failure, by ``time``.
    /// - Returns: The wait, once it has begun.
    /// - Throws: When the case is cancelled.
    public func waitBeforeNextAttempt(since moment: ContinuousClock.Instant) async throws -> Duration {
        var wait: Duration?
        try await eventually("the client waits before its next attempt") {
            // What is polled sleeps longer, and may have begun to before the delivery has failed.
            wait = time.sleeps(begunSince: moment).first { $0 < .seconds(45) }
            return wait != nil
        }
        return wait ?? .zero
    }

    /// The accounts.
    public func ledger() async throws -> Ledger { try await stage.ledger(of: client()) }

    // MARK: The vendor

    /// What the vendor took, of some types; of all but signals of identity and consent if none is named.
    public func received(_ types: String...) async throws -> [Received] {
        try await stage.received().filter { received in
            types.isEmpty
                ? !["identity", "consentChanged", "unknown"].contains(received.type) : types.contains(received.type)
        }
    }

    /// The exposures that the vendor took.
    public func exposures() async throws -> [Received] { try await received("exposure") }

    /// The exchanges so far that served a purpose; all if none is named.
    public func exchanges(_ purpose: WorldFault.Operation? = nil) async throws -> [Exchange] {
        try await stage.exchanges().filter { purpose == nil || $0.purpose == purpose }
    }

    /// Adds faults to the vendor's script.
    public func inject(_ faults: WorldFault...) async throws {
        for fault in faults { note("from now on: \(fault)") }
        try await stage.play(faults)
    }

    /// Changes the vendor's world.
    public func change(_ change: (inout World) -> Void) async throws {
        note("somebody changes the world at the vendor's console")
        try await stage.change(to: world.changing(change))
    }

    /// Takes the vendor off the network or puts it back.
    public func setReachable(_ isReachable: Bool) async throws {
        note(isReachable ? "the vendor is back" : "the vendor goes away")
        try await stage.setReachable(isReachable)
    }

    /// Turns the vendor's kill switch.
    public func setKillSwitch(_ isOn: Bool) async throws {
        note(isOn ? "the vendor's kill switch is turned on" : "the vendor's kill switch is turned off")
        try await stage.setKillSwitch(isOn)
    }

    /// Pushes time forward.
    public func push(_ duration: Duration) {
        note("\(duration) pass")
        time.push(by: duration)
    }

    /// The provider behind the client.
    public func provider() async throws -> any ExperimentationProvider {
        _ = try await client()
        return try unwrap(state.withLock { $0.provider }, "the provider")
    }

    /// What the provider behind the client plays.
    public func roles() async throws -> ProviderRoles { try await client().roles }

    /// Puts another store under the client that is made next.
    public func use(_ store: ClientStore) {
        state.withLock { state in
            state.store = store
            state.reopen = nil
        }
    }

    /// Puts something around the stores of clients that are made from now on.
    func wrapStore(_ wrap: @escaping @Sendable (ClientStore) -> ClientStore) { state.withLock { $0.wrap = wrap } }

    /// Has the events of the client that is made next go elsewhere as well.
    func send(alsoTo companion: StrangeProvider) {
        note("events go to another destination as well")
        state.withLock { $0.companion = companion }
    }

    /// Another client on the same store, as of another process.
    ///
    /// - Parameter provider: Its provider; one of this vendor if `nil`.
    /// - Returns: The client; it ends with the case.
    /// - Throws: Why the provider can't be made or started.
    func anotherClient(of provider: (any ExperimentationProvider)? = nil) async throws -> ExperimentationClient {
        note("another client begins on the same store")
        _ = try await client()
        var made = provider
        if made == nil { made = try await stage.makeProvider() }
        let client = try await ExperimentationClient(
            provider: try unwrap(made, "a provider"),
            store: try await state.withLock { $0.reopen }?() ?? state.withLock { $0.store },
            options: state.withLock { $0.options },
            environment: environment
        )
        // Ended with the others.
        state.withLock { $0.killed.append(client) }
        return client
    }
}

/// Ids that look like what vendors expect, and are the same in every run of a case.
private final class CaseIDs: Sendable {
    private let last = Mutex(0)

    func next() -> String {
        let number = last.withLock { last in
            last += 1
            return last
        }
        let digits = String(number, radix: 16, uppercase: true)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }
}
