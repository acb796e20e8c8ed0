import Foundation

/// One round of deliveries: which batch is sent next, and what follows from an answer.
///
/// Pure: it uses no clock, no task and no store.
///
/// A round begins at the front of the lane and continues after what it was handed. It ends when nothing is left, when a
/// user has to wait, when the vendor gives no answer, and as soon as a user denies consent to an event in it. Leased
/// batches that weren't sent aren't recorded; the next round leases them again.
struct DeliveryRound: Equatable {
    /// Lease more while fewer batches than this are ahead: enough to send while the store waits for the disk.
    private static let mostAhead = 8

    /// What an answer means.
    struct Consequences: Equatable {
        /// What to write down.
        var settlements: [Settlement] = []
        /// How long a pause the vendor asked for, if it did.
        var asked: Duration?
        /// Why the vendor gave no answer, or refuses everything; `nil` if the round may continue.
        var failure: Failure?
    }

    /// Why a round ends before its events are sent.
    enum Failure: Equatable {
        case outage(OutageReason)
        case refused(ExperimentationError)
    }

    /// The lease's token.
    let token: LeaseToken
    /// Batches not sent yet, the next one last.
    private var ahead: [[Envelope]] = []
    /// Users with an event that waits: their later ones wait behind it.
    private var waiting: Set<ExactText> = []
    /// Whether the store may have more.
    private var mayHaveMore = true
    /// What the store had behind the last lease, if it says so.
    private var rest: Lease.Rest?
    /// Whether nothing more may be sent in this round.
    private(set) var isOver = false
    /// Users with an event that the round skipped because the store couldn't record their denial; their later ones wait
    /// as well.
    private var passedOver: Set<ExactText> = []

    /// Begins a round.
    ///
    /// - Parameters:
    ///   - lease: The first lease.
    ///   - unanswered: The ids of the batch that got no answer last time; it is sent again unchanged.
    ///   - largest: The number of events in a full batch.
    init(_ lease: Lease, unanswered: [String], largest: Int) {
        token = lease.token
        var lease = lease
        lease.batches = Self.regrouped(lease.batches, unanswered)
        add(lease, largest: largest)
    }

    /// Adds newly leased batches behind the others.
    ///
    /// - Parameters:
    ///   - lease: The lease, continued.
    ///   - largest: The number of events in a full batch: where the store doesn't say what follows, a batch that isn't
    ///     full is the last.
    mutating func add(_ lease: Lease, largest: Int) {
        rest = lease.rest
        mayHaveMore = mayHaveMore && rest.map { $0 == .more } ?? ((lease.batches.last?.count ?? 0) >= largest)
        ahead.insert(contentsOf: lease.batches.reversed(), at: 0)
    }

    /// Whether to lease more while the current batch is sent.
    var wantsMore: Bool { mayHaveMore && !isOver && waiting.isEmpty && ahead.count < Self.mostAhead }

    /// What is left once everything that was leased is sent; `nil` if only the store knows.
    var remainder: Lease.Rest? { ahead.isEmpty && waiting.isEmpty && !isOver ? rest : nil }

    /// Whether the round skipped events of users whose denial the store couldn't record.
    var hasPassedOver: Bool { !passedOver.isEmpty }

    /// Whether more must be leased before anything can be sent.
    var isExhausted: Bool { ahead.isEmpty }

    /// Ends the round after the current batch.
    mutating func end() {
        isOver = true
        ahead = []
    }

    /// Stops leasing from the store.
    mutating func stopLeasing() { mayHaveMore = false }

    /// Removes and returns the next batch.
    ///
    /// - Parameter denying: Users whose denial the store couldn't record; their events stay in place.
    /// - Returns: The batch; `nil` if nothing leased is left.
    mutating func next(leavingOut denying: Set<ExactText> = []) -> [Envelope]? {
        while var batch = ahead.popLast() {
            if !denying.isEmpty {
                passedOver.formUnion(batch.filter { $0.isStopped(by: denying) }.map { ExactText($0.identity.id) })
            }
            let staying = waiting.union(passedOver)
            if !staying.isEmpty { batch.removeAll { staying.contains(ExactText($0.identity.id)) } }
            if !batch.isEmpty { return batch }
        }
        return nil
    }

    /// Whether an event of one of these users was handed out and may still be sent.
    func concerns(_ users: Set<ExactText>) -> Bool { ahead.contains { $0.contains { $0.isStopped(by: users) } } }

    /// Decides what follows from an answer, and requeues events that were refused only because of others.
    ///
    /// - Parameters:
    ///   - verdicts: The vendor's verdict on each event.
    ///   - batch: The events.
    ///   - policy: How many attempts an event has.
    ///   - now: The time.
    ///   - jitter: A number from 0 up to, but not including, 1; evaluated only to draw a wait.
    /// - Returns: What to write down, and whether to continue.
    mutating func answered(
        _ verdicts: [Verdict?],
        to batch: [Envelope],
        policy: BatchPolicy,
        now: Date,
        jitter: () -> Double
    ) -> Consequences {
        // The common case by itself: examining each event costs more than all the rest.
        if verdicts.allSatisfy({ $0 == .delivered }) {
            return Consequences(settlements: batch.map { Settlement(of: $0, .delivered) })
        }
        let isWhole = DeliveryDecision.isRefusedAsAWhole(verdicts)
        var consequences = Consequences()
        var again: [Envelope] = []
        for (index, envelope) in batch.enumerated() {
            let decision = DeliveryDecision.about(
                envelope,
                verdict: isWhole ? .split("refused with others") : verdicts[index],
                isAlone: batch.count == 1,
                policy: policy,
                now: now,
                jitter: jitter()
            )
            switch decision {
            case .settle(let settlement):
                consequences.settlements.append(settlement)
                if case .retry = settlement.outcome { waiting.insert(ExactText(envelope.identity.id)) }
            case .splitWithOthers: again.append(envelope)
            case .stays(let failure, let asked):
                // The last verdict counts, except that a refusal of everything takes precedence over a missing answer.
                if case .refused = consequences.failure {} else { consequences.failure = failure }
                if let asked { consequences.asked = max(consequences.asked ?? .zero, asked) }
                waiting.insert(ExactText(envelope.identity.id))
            }
        }
        if again.count > 1 {
            let middle = (again.count + 1) / 2
            ahead.append(Array(again[middle...]))
            ahead.append(Array(again[..<middle]))
        } else if !again.isEmpty {
            ahead.append(again)
        }
        return consequences
    }

    /// Splits leased events so that those which were sent together and got no answer are sent together again.
    private static func regrouped(_ batches: [[Envelope]], _ unanswered: [String]) -> [[Envelope]] {
        guard let first = batches.first, !unanswered.isEmpty, first.count > unanswered.count,
            zip(first, unanswered).allSatisfy({ $0.id == $1 })
        else { return batches }
        return [Array(first[..<unanswered.count]), Array(first[unanswered.count...])] + batches.dropFirst()
    }
}

extension Envelope {
    /// Whether a denial by these users stops the event; the consent signal itself is sent anyway.
    func isStopped(by users: Set<ExactText>) -> Bool {
        users.contains(ExactText(identity.id)) && !event.isConsentSignal
    }
}

extension TrackingEvent {
    /// Whether this is the consent signal itself, the only event that may be sent without consent.
    package var isConsentSignal: Bool {
        if case .consentChanged = kind { true } else { false }
    }
}
