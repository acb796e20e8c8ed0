import Foundation
import Synchronization

/// Takes events, keeps them, and delivers them: in order per user, at least once, within its policy.
///
/// One batch is under way at a time. Whatever stops delivery (no network, the kill switch, wrong settings) stops only
/// that: events are still taken.
actor Outbox {
    /// Why nothing is delivered at the moment.
    enum Pause: Hashable { case offline, disabled, stopped, closed }

    /// What a delivery brought back, for the client to act on.
    struct News: Sendable {
        var campaigns: [(envelope: Envelope, campaign: Campaign)] = []
        /// The events that the vendor has taken or refused for good: nothing more will come of them.
        var settled: [Envelope] = []
        var isDisabled = false
        var stopped: ExperimentationError?
        /// Whether the vendor takes events again after it had stopped everything.
        var hasResumed = false
        /// Whether anything was delivered.
        var succeeded = false
    }

    /// An event on its way into the store.
    struct Entry: Sendable {
        var envelope: Envelope
        var isHeld: Bool
        /// Whether the user agrees, so that what an earlier run held of theirs goes first.
        var isGranted = false
        /// Whether the user still agrees, asked again at the last moment.
        var isWanted: @Sendable () -> Bool = { true }

        var userID: String { envelope.identity.id }
    }

    /// A delivery that has begun.
    struct UnderWay {
        var task: Task<DeliveryReport, Never>
        var batch: [Envelope]
        /// Opens when nothing of it is under way any more.
        let ended = OneShot()

        /// Whether anything of a user's is in it but the consent signal itself.
        func concerns(_ userID: String) -> Bool {
            batch.contains { $0.identity.id == userID && !$0.event.isConsentSignal }
        }
    }

    let store: any OutboxStore
    let kept: KeptState
    let sink: (any EventSink)?
    let environment: Environment
    let report: @Sendable (News) -> Void

    var pauses: Set<Pause> = []
    /// Users who have withdrawn their consent, until somebody who has it tracks again.
    var deniedUsers: Set<String> = []
    /// Users who have withdrawn their consent and of whom something may still be there; the next run knows of them.
    var owedWithdrawals: Set<String> = []
    /// Users whose events are being removed from the store at this moment: theirs wait for that to end.
    var beingPurged: [String: OneShot] = [:]
    /// Whether the store may hold events for consent, as far as this client knows.
    nonisolated let mayHold = Atomic<Bool>(true)
    /// Users of whom nothing is held any more; a bounded memory that spares the store the question.
    var released: Set<String> = []
    /// Users whose held events are being let go at this moment.
    var beingReleased: [String: OneShot] = [:]
    /// About how many events wait for a delivery.
    var waiting = 0
    /// How many deliveries have failed in a row.
    var failures = 0
    /// When deliveries may go on after an outage.
    var outageEnds: ContinuousClock.Instant?
    /// Until when the vendor asked to be left alone; not even a flush goes before.
    var askedUntil: ContinuousClock.Instant?
    var underWay: UnderWay?
    /// Whether ``underWay`` was cancelled because of a user's consent, not because of the vendor.
    var isInterrupted = false
    /// What the store couldn't write down.
    var unsettled: [Settlement] = []
    /// Batches that got no answer, by their first event: they are sent again as they were, under the same name.
    var unanswered: [String: [Envelope]] = [:]

    /// Batches that are leased and not yet sent, the next one last.
    var ahead: [[Envelope]] = []
    /// What is neither ahead nor settled while something of its batch is written down: it goes back if the store fails.
    var inHand: [Envelope] = []
    /// The next batches on their way out of the store.
    var leasing: Task<Result<[[Envelope]], ExperimentationError>, Never>?
    /// Whether ``leasing`` has ended and nobody has taken what it brought.
    var hasLeased = false
    /// Users whose events were removed since ``leasing`` began.
    var purgedMeanwhile: Set<String> = []
    /// Users whose events were taken out of ``ahead`` in this round: no later one of theirs may go first.
    var forgotten: Set<String> = []
    /// What is to be written down while the next batches are under way.
    var aside: [[Settlement]] = []
    /// The writing down of what stands aside.
    var settling: Task<Void, Never>?
    /// Why something that stood aside couldn't be written down; ends the round.
    var settleFailure: ExperimentationError?
    /// How often something was written down.
    var settled = 0
    /// How often in a row the vendor has refused everything until somebody mends the settings.
    var stops = 0
    /// Whether the vendor is tried with a single event, after such a refusal.
    var isProbing = false
    var probe: Task<Void, Never>?

    var drain: Task<Void, Never>?
    /// When the last drain said that there is something to try again.
    var nextRound: ContinuousClock.Instant?
    var timer: Task<Void, Never>?
    var timerDeadline: ContinuousClock.Instant?

    var appending: [String: Int] = [:]
    var appendWaiters: [String: [CheckedContinuation<Void, Never>]] = [:]
    /// Events that were stored although their users no longer agreed, and couldn't be removed yet.
    var owedRemovals: [Entry] = []
    var takingNoted: Task<Void, Never>?
    /// Events of callers who can't wait: exposures recorded by a read.
    ///
    /// They come before whatever is accepted later.
    let intake = Mutex<[Entry]>([])

    private let began: (date: Date, instant: ContinuousClock.Instant)
    /// When the round under way began, by both clocks.
    var roundBegan: (date: Date, instant: ContinuousClock.Instant)

    init(
        store: any OutboxStore,
        kept: KeptState,
        sink: (any EventSink)?,
        environment: Environment,
        report: @escaping @Sendable (News) -> Void
    ) {
        self.store = store
        self.kept = kept
        self.sink = sink
        self.environment = environment
        self.report = report
        began = (environment.time.now, environment.time.instant)
        roundBegan = began
    }

    /// The time of day as far as it can be trusted: no later than what has passed since the beginning, so that a clock
    /// that is set ahead doesn't make events old.
    var cautiousNow: Date {
        let passed = began.instant.duration(to: environment.time.instant).seconds
        return min(environment.time.now, began.date + passed)
    }

    /// The time for waits: the store compares them with the time of the round's leases, so a clock that is set in between
    /// must not show in them.
    var roundNow: Date { roundBegan.date + roundBegan.instant.duration(to: environment.time.instant).seconds }

    // MARK: What the client says

    /// Stops or lets go of delivery for one reason.
    func setPause(_ pause: Pause, _ isOn: Bool) {
        if isOn {
            pauses.insert(pause)
        } else if pauses.remove(pause) != nil, pauses.isEmpty {
            failures = 0
            outageEnds = nil
            waiting = max(waiting, 1)
            startDrain()
        }
    }

    /// Tries again after a refusal of everything: somebody says that the reason is gone.
    func resumeAfterStop() {
        // That it was stopped is forgotten with the first event that is taken.
        stops = min(stops, 1)
        isProbing = false
        probe?.cancel()
        setPause(.stopped, false)
    }

    /// Delivers what an earlier run left.
    ///
    /// Only if anything is left: a drain for nothing would take the first event of this run before its batch is due.
    func resume() async {
        guard pauses.isEmpty, sink != nil else { return }
        if let left = try? await store.status(now: environment.time.now) {
            // Nobody has tracked yet.
            if left.held == 0 { mayHold.store(false, ordering: .relaxed) }
            if left.ready + left.delayed + left.leased == 0 { return }
        }
        startDrain()
    }

    /// The events that wait, with everything noted taken in first.
    func waitingEvents(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent] {
        await takeInNoted()
        return try await store.waiting(after: sequence, limit: limit)
    }

    /// Ends delivery; what waits stays in the store.
    func close() async {
        pauses.insert(.closed)
        timer?.cancel()
        timer = nil
        probe?.cancel()
        drain?.cancel()
    }

    /// The accounts, with everything noted taken in first, and every answer.
    func ledger() async throws(ExperimentationError) -> Ledger {
        await takeInNoted()
        await waitForSettling()
        return try await store.ledger()
    }

    /// What waits, with everything noted taken in first, and every answer.
    func status() async throws(ExperimentationError) -> OutboxStatus {
        await takeInNoted()
        await waitForSettling()
        return try await store.status(now: environment.time.now)
    }
}

extension TrackingEvent {
    /// Whether this is the consent signal itself, the one thing that may be sent without consent.
    var isConsentSignal: Bool {
        if case .consentChanged = kind { true } else { false }
    }
}
