import Experimentation
import Synchronization

/// The tools for the steps of a case: a client in front of the subject, its vendor, time, and expectations.
public final class Probe: Sendable {
    /// The subject.
    public let subject: any ConformanceSubject
    /// The mock vendor.
    public let stage: any SubjectStage
    /// The world that the case started from.
    public let world: World
    /// The time, which can be pushed forward.
    public let time: SuiteTime
    /// The log of the client and the provider.
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
        /// Other clients on the same store, which end with the case.
        var others: [ExperimentationClient] = []
        var companion: StrangeProvider?
        var isDecidedElsewhere = false
        /// Reopens the stores as a new process would; `nil` for stores in memory.
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
    ///   - store: The store that survives a restart; in memory by default.
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

    /// The time, ids, randomness and log of this case; ids are unique, and random numbers are always one half.
    public var environment: ClientEnvironment {
        ClientEnvironment(
            time: time,
            // Captures only what it needs: the probe holds the client, which holds this, so capturing `self` would leak
            // both.
            makeID: { [ids] in ids.next() },
            jitter: { 0.5 },
            log: log
        )
    }

    // MARK: The client

    /// Returns the client, creating it at the first call.
    ///
    /// - Parameter options: The client's options; they take effect at the first call and after a restart.
    /// - Returns: The current client.
    /// - Throws: Why the provider can't be created or started.
    public func client(_ options: ClientOptions? = nil) async throws -> ExperimentationClient {
        if let client = state.withLock({ $0.client }) { return client }
        if let options { state.withLock { $0.options = options } }
        let environment = environment
        let (isRestarted, reopen) = state.withLock { ($0.isRestarted, $0.reopen) }
        if isRestarted, let opened = try await reopen?() { state.withLock { $0.store = opened } }
        let (store, companion, wrap, isDecidedElsewhere) = state.withLock {
            ($0.store, $0.companion, $0.wrap, $0.isDecidedElsewhere)
        }
        let cut = CutStore(wrap(store))
        var provider = try await stage.makeProvider()
        if isDecidedElsewhere { provider = DecidedElsewhere(inner: provider) }
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

    /// Kills the process without warning and starts another on the same store.
    ///
    /// - Parameter options: The options of the new client; the old client's if `nil`.
    /// - Returns: The new client.
    /// - Throws: Why the provider can't be created or started.
    @discardableResult
    public func kill(andStartWith options: ClientOptions? = nil) async throws -> ExperimentationClient {
        note("kill the process and start another on the same store")
        let killed = state.withLock { state in
            defer { state.client = nil }
            state.cut?.cut()
            state.isRestarted = true
            return state.client
        }
        // A killed process doesn't send what it was about to send: an attempt under way could find a vendor that is
        // back.
        if let killed { await Self.end(killed) }
        return try await client(options)
    }

    /// Shuts the client down and starts another on the same store.
    ///
    /// - Parameter options: The options of the new client; the old client's if `nil`.
    /// - Returns: The new client.
    /// - Throws: Why the provider can't be created or started.
    @discardableResult
    public func restart(with options: ClientOptions? = nil) async throws -> ExperimentationClient {
        note("shut down and start again on the same store")
        let client = state.withLock { state in
            defer { state.client = nil }
            state.isRestarted = true
            return state.client
        }
        // Generous: on a busy machine, an attempt that outlives its client would reach a vendor that is back meanwhile.
        await client?.shutdown(within: .seconds(10))
        return try await self.client(options)
    }

    /// The number of requests for decisions while the client started: a client that computes decisions may fetch by
    /// itself.
    ///
    /// - Returns: The number, once they are answered.
    /// - Throws: Why the provider can't be created or started.
    public func requestsAtStart() async throws -> Int {
        try await waitForStart()
        return try await exchanges(.decisions).count
    }

    /// Waits, for ten seconds at most, until a client that fetches by itself has an answer.
    private func waitForStart() async throws {
        let client = try await client()
        guard case .computed(let source) = try await roles().decisions, source.freshness.polling != nil else {
            return
        }
        let deadline = ContinuousClock.now.advanced(by: .seconds(10))
        while client.status == .notReady, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(1), clock: .continuous)
        }
    }

    /// Waits, for ten seconds at most, until a provider that was told where to listen for changes is connected.
    private func waitForListening() async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(10))
        while try await !stage.isHeard {
            guard ContinuousClock.now < deadline else {
                return note("the provider isn't connected to what announces changes, after ten seconds")
            }
            try await Task.sleep(for: .milliseconds(1), clock: .continuous)
        }
    }

    /// Creates a session for a user, without decisions.
    public func session(for user: User = .ada) async throws -> UserSession {
        try await client().session(for: user)
    }

    /// Creates a session for a user, with decisions from the vendor.
    public func readySession(for user: User = .ada) async throws -> UserSession {
        let session = try await session(for: user)
        try await waitForStart()
        note("refresh \(user.id)")
        try await session.refresh()
        try await waitForListening()
        return session
    }

    /// Refreshes, and returns the error instead of throwing it.
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

    /// Refreshes with an answer that the vendor gives after this call.
    ///
    /// A refresh shares the request of a poll under way, which may have been sent before the vendor changed. By the
    /// second refresh, any such request has ended.
    @discardableResult
    public func refreshAnew(_ session: UserSession) async -> ExperimentationError? {
        await refresh(session)
        return await refresh(session)
    }
}
