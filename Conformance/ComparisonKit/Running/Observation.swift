import ConformanceKit
import Experimentation

/// The observable state of a session and its vendor at one moment.
struct Glimpse {
    var identity: Identity?
    var values: [String: FlagValue] = [:]
    var places: [String: String] = [:]
    var pending = 0
    /// The number of events that the vendor has received; counted only before steps that need it.
    var received = 0
}

extension Scenario.Action {
    /// The number of events that this action tracks.
    var events: Int { if case .track(let events, let times) = self { events.count * times } else { 0 } }

    /// Whether the number of events received by then is needed.
    var asksForReceived: Bool {
        switch self {
        case .logIn, .consent, .arrive: true
        default: false
        }
    }
}

/// Collects the findings of a scenario step by step; pure.
struct Observation {
    private var offline: Findings.Offline?
    private var isAway = false
    private var signedIn: (before: Glimpse, received: Int, finding: Findings.Linking)?
    private var isPlaceOpen = false
    private var withdrawn: (received: Int, end: Int?, finding: Findings.Withdrawal)?

    /// Records a step.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - outcome: Its outcome.
    ///   - before: The state before.
    ///   - after: The state after.
    mutating func note(_ action: Scenario.Action, _ outcome: StepOutcome, from before: Glimpse, to after: Glimpse) {
        if isAway { noteAbsence(action, outcome) }
        switch action {
        case .network(let isReachable):
            isAway = !isReachable
            if isAway, offline == nil { offline = Findings.Offline() }
        case .logIn: noteLinking(outcome, from: before, to: after)
        case .refresh: closePlaces(after)
        case .consent(.denied) where outcome.kind == .done: noteWithdrawal(outcome, from: before, to: after)
        case .consent, .arrive:
            if withdrawn?.end == nil { withdrawn?.end = before.received }
        default: break
        }
    }

    /// Returns the findings at the end.
    ///
    /// - Parameters:
    ///   - received: What the vendor received, in order.
    ///   - kept: The events that were accepted while the vendor was away.
    /// - Returns: The findings.
    func findings(received: [Received], kept: KeptEvents) -> Findings {
        var findings = Findings(offline: offline)
        findings.offline?.accepted = kept.count()
        findings.offline?.waiting = kept.count(.waiting)
        findings.offline?.purged = kept.count(.purged)
        findings.offline?.dropped = kept.count(.dropped)
        if let signedIn {
            findings.linking = signedIn.finding
            let earlier = [signedIn.before.identity?.id, signedIn.before.identity?.anonymousID].compactMap { $0 }
            findings.linking?.isVendorTold = received.dropFirst(signedIn.received).contains { record in
                guard let before = record.anonymousID, let now = record.userID else { return false }
                return before != now && (earlier.contains(before) || record.type == "identity")
            }
        }
        if let withdrawn {
            findings.withdrawal = withdrawn.finding
            let later = received.dropFirst(withdrawn.received)
            let end = withdrawn.end ?? received.count
            findings.withdrawal?.isVendorTold = later.contains { $0.type == "consentChanged" && $0.isGranted != true }
            findings.withdrawal?.arrivals = later.prefix(max(0, end - withdrawn.received))
                .count { !["consentChanged", "identity"].contains($0.type) }
        }
        return findings
    }

    // MARK: Parts

    private mutating func noteAbsence(_ action: Scenario.Action, _ outcome: StepOutcome) {
        guard let evaluation = outcome.evaluation, outcome.kind == .done else { return }
        offline?.readings += 1
        guard evaluation.error == nil else { return }
        offline?.answered += 1
        if offline?.reasons.contains(evaluation.reason) == false { offline?.reasons.append(evaluation.reason) }
    }

    private mutating func noteLinking(_ outcome: StepOutcome, from before: Glimpse, to after: Glimpse) {
        var finding = Findings.Linking(
            flags: before.values.count,
            flagsKept: before.values.count { after.values[$0.key] == $0.value },
            places: before.places.count,
            placesKept: before.places.count { after.places[$0.key] == $0.value },
            waiting: before.pending,
            waitingKept: max(0, before.pending - max(0, outcome.events.purged) - max(0, outcome.events.dropped)),
            requests: outcome.traffic.requests
        )
        if outcome.kind != .done {
            var bare = outcome
            bare.events = EventCount()
            finding.failure = bare.sentence
        }
        signedIn = (before, before.received, finding)
        isPlaceOpen = true
    }

    private mutating func closePlaces(_ after: Glimpse) {
        guard isPlaceOpen, let before = signedIn?.before else { return }
        isPlaceOpen = false
        signedIn?.finding.placesKept = before.places.count { after.places[$0.key] == $0.value }
    }

    private mutating func noteWithdrawal(_ outcome: StepOutcome, from before: Glimpse, to after: Glimpse) {
        let finding = Findings.Withdrawal(
            purged: max(0, outcome.events.purged),
            // The events accepted by this step are the vendor's own signal.
            waiting: max(0, after.pending - max(0, outcome.events.accepted)),
            flags: before.values.count,
            flagsKept: before.values.count { after.values[$0.key] == $0.value }
        )
        withdrawn = (before.received, nil, finding)
    }
}
