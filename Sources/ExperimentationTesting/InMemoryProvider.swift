import Experimentation
import Synchronization

/// A provider without a vendor, for tests of an application: a test sets its flags, experiments and campaigns, and can
/// inspect its events.
///
/// ```swift
/// let provider = InMemoryProvider(flags: [InMemoryFlag("newCheckout", true)])
/// let client = try await ExperimentationClient(provider: provider)
/// ```
///
/// It plays every role, and can be made to fail.
public final class InMemoryProvider: ExperimentationProvider {
    /// What a test can inspect.
    public struct Record: Sendable {
        /// The events delivered, in the order of delivery.
        public var delivered: [Envelope] = []
        /// The attempted batches, delivered or not.
        public var batches: [[Envelope]] = []
        /// The number of requests for rules.
        public var fetches = 0
        /// The completed links.
        public var links: [LinkProgress] = []
        /// Whether the provider has been started.
        public var isStarted = false
        /// Whether the provider has been stopped.
        public var isStopped = false
    }

    struct State: Sendable {
        var flags: [InMemoryFlag]
        var experiments: [InMemoryExperiment]
        var rules: InMemoryRules
        var version = 1
        var record = Record()
        var isDisabled = false
        var failure: ExperimentationError?
        var verdict: @Sendable (Envelope) -> Verdict = { _ in .delivered }
        var answer: @Sendable (Envelope) -> [Campaign] = { _ in [] }

        mutating func replace(_ flags: [InMemoryFlag], _ experiments: [InMemoryExperiment]) {
            self.flags = flags
            self.experiments = experiments
            rules = InMemoryRules(flags: flags, experiments: experiments)
            version += 1
        }
    }

    /// The name; `in-memory` by default.
    public let name: String
    /// Distinguishes in-memory providers.
    public let scope: String
    /// The provider's declared capabilities; all of them by default.
    public let capabilities: Set<Capability>
    private let freshness: Freshness
    private let batching: BatchPolicy
    private let needsConsent: Bool
    let state: Mutex<State>
    let listeners = Listeners<ChangeNotice>()

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - scope: Distinguishes it from others with the same store.
    ///   - flags: Its flags.
    ///   - experiments: Its experiments.
    ///   - freshness: How long its rules are valid.
    ///   - batching: When it is sent events.
    ///   - needsConsent: Whether it needs consent.
    ///   - capabilities: Its declared capabilities.
    public init(
        name: String = "in-memory",
        scope: String = "",
        flags: [InMemoryFlag] = [],
        experiments: [InMemoryExperiment] = [],
        freshness: Freshness = Freshness(),
        batching: BatchPolicy = BatchPolicy(count: 10, interval: .seconds(5)),
        needsConsent: Bool = true,
        capabilities: Set<Capability> = Set(Capability.all)
    ) {
        self.name = name
        self.scope = scope
        self.freshness = freshness
        self.batching = batching
        self.needsConsent = needsConsent
        self.capabilities = capabilities
        state = Mutex(
            State(
                flags: flags,
                experiments: experiments,
                rules: InMemoryRules(flags: flags, experiments: experiments)
            )
        )
    }

    /// Returns all roles, and records that it was started.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        state.withLock { $0.record.isStarted = true }
        return roles
    }

    /// All roles.
    public var roles: ProviderRoles {
        let part = InMemoryPart(provider: self, freshness: freshness, batching: batching)
        var roles = ProviderRoles(
            decisions: .computed(part),
            events: part,
            identity: part,
            campaigns: CampaignPolicy(limitPerTarget: 1),
            needsConsent: needsConsent
        )
        roles.assignments = AssignmentPolicy(
            isSticky: capabilities.contains(.stickyAssignments),
            allowsOverrides: capabilities.contains(.overrides)
        )
        roles.changes = part
        roles.stop = { [weak self] _ in self?.state.withLock { $0.record.isStopped = true } }
        return roles
    }

    // MARK: Set-up

    /// Replaces flags and experiments; clients see the change with their next refresh.
    public func replace(flags: [InMemoryFlag], experiments: [InMemoryExperiment] = []) {
        state.withLock { $0.replace(flags, experiments) }
    }

    /// Changes one flag, or adds it, and leaves the other flags and the experiments unchanged.
    ///
    /// Unlike ``replace(flags:experiments:)``, this notifies clients at once: open sessions that were refreshed before
    /// update themselves, and announce the change in ``Experimentation/UserSession/changes``.
    public func set(_ flag: InMemoryFlag) {
        change { flags in
            if let place = flags.firstIndex(where: { ExactText($0.key) == ExactText(flag.key) }) {
                flags[place] = flag
            } else {
                flags.append(flag)
            }
        }
    }

    /// Removes one flag, leaves the others unchanged, and notifies clients as ``set(_:)`` does.
    public func removeFlag(_ key: String) { change { $0.removeAll { ExactText($0.key) == ExactText(key) } } }

    private func change(_ change: (inout [InMemoryFlag]) -> Void) {
        state.withLock { state in
            var flags = state.flags
            change(&flags)
            state.replace(flags, state.experiments)
        }
        listeners.add(.changed)
        listeners.tell()
    }

    fileprivate func listen() -> AsyncStream<ChangeNotice> {
        // One pending notice is enough: clients ask for the final state.
        listeners.stream(buffering: .bufferingNewest(1))
    }

    /// Turns the kill switch on or off.
    public func setDisabled(_ isDisabled: Bool) { state.withLock { $0.isDisabled = isDisabled } }

    /// Makes every fetch fail, until `nil` is set.
    public func setFailure(_ failure: ExperimentationError?) { state.withLock { $0.failure = failure } }

    /// Sets the verdict on each event; `verdict` is called once for each event of a batch, and may use this provider.
    public func setVerdict(_ verdict: @escaping @Sendable (Envelope) -> Verdict) {
        state.withLock { $0.verdict = verdict }
    }

    /// Sets the campaigns that answer a delivered event; `answer` is called once for each, and may use this provider.
    public func setCampaigns(_ answer: @escaping @Sendable (Envelope) -> [Campaign]) {
        state.withLock { $0.answer = answer }
    }

    // MARK: Inspection

    /// What has happened so far.
    public var record: Record { state.withLock { $0.record } }

    /// Empties ``record`` of fetches, links, batches and events, for runs whose record would outgrow memory.
    public func clearRecord() {
        state.withLock { state in
            state.record.fetches = 0
            state.record.links = []
            state.record.batches = []
            state.record.delivered = []
        }
    }

    /// The events delivered, in the order of delivery.
    public var delivered: [TrackingEvent] { record.delivered.map(\.event) }

    /// The exposures delivered, in the order of delivery.
    public var exposures: [Exposure] {
        delivered.compactMap { event in
            if case .exposure(let exposure) = event.kind { exposure } else { nil }
        }
    }
}

/// The roles of an ``InMemoryProvider``.
struct InMemoryPart: RulesetSource, EventSink, IdentityLinker, ChangeSource {
    let provider: InMemoryProvider
    let freshness: Freshness
    let batching: BatchPolicy

    func notices() -> AsyncStream<ChangeNotice> { provider.listen() }

    func setApplicationState(_ applicationState: ApplicationState) {}

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let result = provider.state.withLock { state -> Result<RulesetAnswer, ExperimentationError> in
            state.record.fetches += 1
            if let failure = state.failure { return .failure(failure) }
            if state.isDisabled { return .success(.disabled) }
            let version = String(state.version)
            if version == validator { return .success(.unchanged) }
            return .success(.replaced(state.rules, validator: version, raw: Array(version.utf8)))
        }
        return try result.get()
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        provider.state.withLock { $0.rules }
    }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {}

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        var report = DeliveryReport(noAnswerTo: batch.count)
        let (verdict, answer) = provider.state.withLock { state in
            state.record.batches.append(batch)
            report.isDisabled = state.isDisabled
            return (state.verdict, state.answer)
        }
        // Done without the lock: a test's closures may use the provider.
        var delivered: [Envelope] = []
        for (place, envelope) in batch.enumerated() {
            let given = verdict(envelope)
            report[place] = given
            guard case .delivered = given else { continue }
            delivered.append(envelope)
            report.campaigns += answer(envelope).map { ReceivedCampaign(eventID: envelope.id, campaign: $0) }
        }
        provider.state.withLock { $0.record.delivered += delivered }
        return report
    }

    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
        let failure = provider.state.withLock { $0.failure }
        if let failure { throw failure }
        var progress = progress
        progress.isComplete = true
        provider.state.withLock { $0.record.links.append(progress) }
        return progress
    }
}
