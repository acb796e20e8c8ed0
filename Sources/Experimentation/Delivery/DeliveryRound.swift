import Foundation

/// One round of deliveries: which batch is sent next, and what follows from an answer.
///
/// Pure: it knows no clock, no task and no store.
///
/// A round begins at the front of the lane and goes on behind what it was given. It ends when nothing more is there, when
/// a user has to wait, when the vendor gives no answer, and as soon as a user denies consent to an event in it. What
/// it was given and hasn't sent needs no note anywhere: the next round is given it again.
struct DeliveryRound: Equatable {
    /// While fewer batches than this are ahead, more are leased: enough to send while the store waits for the disk.
    private static let mostAhead = 8

    /// What an answer means.
    struct Consequences: Equatable {
        /// What is to be written down.
        var settlements: [Settlement] = []
        /// How long the vendor asks for patience, if it does.
        var asked: Duration?
        /// Why the vendor gave no answer, or refuses everything; `nil` if the round may go on.
        var failure: Failure?
    }

    /// Why a round ends before its events do.
    enum Failure: Equatable {
        case outage(OutageReason)
        case refused(ExperimentationError)
    }

    /// Names the lease.
    let token: LeaseToken
    /// Batches that aren't sent yet, the next one last.
    private var ahead: [[Envelope]] = []
    /// Users of whom an event waits: their later ones wait behind it.
    private var waiting: Set<ExactText> = []
    /// Whether the store may have more.
    private var mayHaveMore = true
    /// Whether nothing more of it may be sent.
    private(set) var isOver = false
    /// Whether events were passed over whose users deny consent although the store couldn't write that down.
    private(set) var hasPassedOver = false

    /// Begins a round.
    ///
    /// - Parameters:
    ///   - lease: What was leased first.
    ///   - unanswered: The ids of the batch that got no answer the last time; it goes out as it was.
    ///   - largest: How many events a full batch has.
    init(_ lease: Lease, unanswered: [String], largest: Int) {
        token = lease.token
        add(Self.regrouped(lease.batches, unanswered), largest: largest)
    }

    /// Adds what was leased behind the rest.
    ///
    /// - Parameters:
    ///   - batches: The batches.
    ///   - largest: How many events a full batch has: one that isn't full is the last.
    mutating func add(_ batches: [[Envelope]], largest: Int) {
        if (batches.last?.count ?? 0) < largest { mayHaveMore = false }
        ahead.insert(contentsOf: batches.reversed(), at: 0)
    }

    /// Whether more should be leased while the present batch is sent.
    var wantsMore: Bool { mayHaveMore && !isOver && waiting.isEmpty && ahead.count < Self.mostAhead }

    /// Whether more must be leased before anything can be sent.
    var isExhausted: Bool { ahead.isEmpty }

    /// Has the round end with the batch under way.
    mutating func end() {
        isOver = true
        ahead = []
    }

    /// Asks for nothing more from the store.
    mutating func stopLeasing() { mayHaveMore = false }

    /// Takes the next batch out.
    ///
    /// - Parameter denying: Users whose denial the store couldn't write down; theirs stays where it is.
    /// - Returns: The batch; `nil` at the end of what was leased.
    mutating func next(leavingOut denying: Set<ExactText> = []) -> [Envelope]? {
        while var batch = ahead.popLast() {
            if !denying.isEmpty {
                let passed = batch.filter { $0.isStopped(by: denying) }
                if !passed.isEmpty { hasPassedOver = true }
                waiting.formUnion(passed.map { ExactText($0.identity.id) })
            }
            if !waiting.isEmpty { batch.removeAll { waiting.contains(ExactText($0.identity.id)) } }
            if !batch.isEmpty { return batch }
        }
        return nil
    }

    /// Whether an event of one of these users was given out and may still be sent.
    func concerns(_ users: Set<ExactText>) -> Bool { ahead.contains { $0.contains { $0.isStopped(by: users) } } }

    /// Decides what follows from an answer, and lines up again what was refused only because of others.
    ///
    /// - Parameters:
    ///   - verdicts: What the vendor said of each event.
    ///   - batch: The events.
    ///   - policy: How many attempts an event has.
    ///   - now: The time.
    ///   - jitter: A number from 0 up to 1; asked for only where a wait is drawn.
    /// - Returns: What to write down, and whether to go on.
    mutating func answered(
        _ verdicts: [Verdict?],
        to batch: [Envelope],
        policy: BatchPolicy,
        now: Date,
        jitter: () -> Double
    ) -> Consequences {
        // The common case by itself: to look at each event as a whole costs more than all the rest.
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
                // The last word counts: a refusal of everything weighs more than the lack of an answer.
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

    /// Parts leased events so that those which went out together and got no answer go out together again.
    private static func regrouped(_ batches: [[Envelope]], _ unanswered: [String]) -> [[Envelope]] {
        guard let first = batches.first, !unanswered.isEmpty, first.count > unanswered.count,
            zip(first, unanswered).allSatisfy({ $0.id == $1 })
        else { return batches }
        return [Array(first[..<unanswered.count]), Array(first[unanswered.count...])] + batches.dropFirst()
    }
}

extension Envelope {
    /// Whether a denial of these users stops the event; the consent signal itself is sent all the same.
    func isStopped(by users: Set<ExactText>) -> Bool {
        users.contains(ExactText(identity.id)) && !event.isConsentSignal
    }
}

extension TrackingEvent {
    /// Whether this is the consent signal itself, the one thing that may be sent without consent.
    package var isConsentSignal: Bool {
        if case .consentChanged = kind { true } else { false }
    }
}
