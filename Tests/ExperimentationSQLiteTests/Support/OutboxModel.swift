import Experimentation
import Foundation

/// The expected content of an outbox, implemented as simply as possible and independently of both stores.
struct OutboxModel {
    /// The time until which an event waits, and when that was recorded.
    struct Wait: Equatable {
        var noted = Date.distantPast
        var due = Date.distantPast
        func isOn(_ now: Date) -> Bool { now < due && noted <= now + 60 && due.timeIntervalSince(noted) <= 604_800 }
    }

    struct Delivery {
        var isHeld: Bool
        var attempts = 0
        var wait = Wait()
    }

    struct Row {
        var sequence: Int64
        var id: String
        var user: String
        var priority: Int
        var date: Date
        var isKept: Bool
        var isReadable = true
        var deliveries: [Int: Delivery]
    }

    struct Lane {
        var owner: Int64 = 0
        var epoch: Int64 = 0
        var revision = 0
        var lease = Wait()
        var pause = Wait()
        var out: Int64 = 0
        var ledger = Ledger()
        func isLive(_ now: Date) -> Bool { owner != 0 && lease.isOn(now) }
    }

    /// A lease as its holder sees it.
    struct Holding: Equatable {
        var owner: Int64
        var epoch: Int64
        var revision: Int
    }

    enum Answer: Equatable {
        case given([String], Holding)
        case nothing(until: Date?)
        case busy(until: Date)
        case paused(until: Date)
        case lost
    }

    var rows: [Row] = []
    var lanes = [Lane(), Lane()]
    var denied: Set<String> = []
    var sequence: Int64 = 0
    let most: Int

    init(most: Int) { self.most = most }

    // MARK: Accepting

    /// - Returns: Whether the event was accepted.
    mutating func append(_ event: NewEvent, _ places: [Int], now: Date) -> Bool {
        let envelope = event.envelope
        if event.grantsConsent { _ = setConsent(envelope.identity.id, isGranted: true) }
        if denied.contains(envelope.identity.id), !envelope.event.isConsentSignal { return false }
        sequence += 1
        var row = Row(
            sequence: sequence,
            id: envelope.id,
            user: envelope.identity.id,
            priority: envelope.event.priority.rawValue,
            date: envelope.date,
            isKept: envelope.event.isConsentSignal,
            deliveries: [:]
        )
        for (place, delivery) in zip(places, event.deliveries) {
            row.deliveries[place] = Delivery(isHeld: delivery.isHeld)
            lanes[place].ledger.accepted += 1
        }
        rows.append(row)
        while rows.count > most {
            let free = rows.indices.filter { index in !rows[index].deliveries.keys.contains { isInHand(index, $0, now) }
            }
            guard let least = free.map({ rows[$0].priority }).min(),
                let victim = free.first(where: { rows[$0].priority == least })
            else { return true }
            for (place, delivery) in rows[victim].deliveries {
                lanes[place].ledger.dropped[.overflow, default: 0] += 1
                if !delivery.isHeld { disturb(place, rows[victim].sequence) }
            }
            rows.remove(at: victim)
        }
        return true
    }

    private func isInHand(_ index: Int, _ place: Int, _ now: Date) -> Bool {
        rows[index].sequence <= lanes[place].out && lanes[place].isLive(now)
            && rows[index].deliveries[place]?.isHeld == false
    }

    private mutating func disturb(_ place: Int, _ sequence: Int64) {
        if lanes[place].owner != 0, sequence <= lanes[place].out { lanes[place].revision += 1 }
    }

    private mutating func remove(where isGone: (Row, Int) -> Bool) -> [Int] {
        var counts = [0, 0]
        for index in rows.indices {
            for (place, delivery) in rows[index].deliveries where isGone(rows[index], place) {
                if !delivery.isHeld { disturb(place, rows[index].sequence) }
                rows[index].deliveries[place] = nil
                counts[place] += 1
            }
        }
        rows.removeAll { $0.deliveries.isEmpty }
        return counts
    }

    mutating func setConsent(_ user: String, isGranted: Bool) -> ConsentOutcome {
        guard isGranted else {
            denied.insert(user)
            let counts = remove { row, _ in row.user == user && !row.isKept }
            for place in lanes.indices { lanes[place].ledger.purged += counts[place] }
            return ConsentOutcome(removed: counts.reduce(0, +))
        }
        denied.remove(user)
        var outcome = ConsentOutcome()
        for index in rows.indices where rows[index].user == user {
            for place in lanes.indices where rows[index].deliveries[place]?.isHeld == true {
                rows[index].deliveries[place]?.isHeld = false
                disturb(place, rows[index].sequence)
                outcome.released += 1
            }
        }
        return outcome
    }

    mutating func expire(before date: Date, _ place: Int, now: Date) -> Int {
        let lane = lanes[place]
        let counts = remove { row, other in
            let isInHand = row.sequence <= lane.out && lane.isLive(now) && row.deliveries[place]?.isHeld == false
            return other == place && row.date < date && !isInHand
        }
        if counts[place] > 0 { lanes[place].ledger.dropped[.expired, default: 0] += counts[place] }
        return counts[place]
    }

    // MARK: Delivering

    mutating func lease(_ place: Int, _ request: LeaseRequest, goingOn holding: Holding?) -> Answer {
        let now = request.now
        if let holding {
            guard isCurrent(place, holding), holding.owner == request.owner else { return .lost }
            lanes[place].lease.due = request.until
        } else {
            if lanes[place].owner != request.owner, lanes[place].isLive(now) {
                return .busy(until: lanes[place].lease.due)
            }
            if lanes[place].pause.isOn(now) { return .paused(until: lanes[place].pause.due) }
            if lanes[place].owner != request.owner { lanes[place].epoch += 1 }
            lanes[place].owner = request.owner
            lanes[place].lease = Wait(noted: now, due: request.until)
            lanes[place].out = 0
        }
        let isGoingOn = holding != nil
        while true {
            let (taken, next) = next(place, request, isGoingOn: isGoingOn)
            if taken.isEmpty, !isGoingOn {
                lanes[place].owner = 0
                lanes[place].out = 0
                return .nothing(until: next)
            }
            lanes[place].out = taken.last.map { rows[$0].sequence } ?? lanes[place].out
            let ids = taken.filter { rows[$0].isReadable }.map { rows[$0].id }
            for index in taken where !rows[index].isReadable {
                rows[index].deliveries[place] = nil
                lanes[place].ledger.dropped[.unreadable, default: 0] += 1
            }
            rows.removeAll { $0.deliveries.isEmpty }
            let lane = lanes[place]
            if !ids.isEmpty || taken.isEmpty {
                return .given(ids, Holding(owner: lane.owner, epoch: lane.epoch, revision: lane.revision))
            }
            // An unreadable event is dropped: the lease starts again without it.
            if !isGoingOn { lanes[place].out = 0 }
        }
    }

    func next(_ place: Int, _ request: LeaseRequest, isGoingOn: Bool) -> (taken: [Int], next: Date?) {
        let began = lanes[place].lease.noted
        var blocked: Set<String> = []
        var taken: [Int] = []
        var due: Date?
        for (index, row) in rows.enumerated() {
            guard let delivery = row.deliveries[place], !delivery.isHeld else { continue }
            let (wait, now) = (delivery.wait, request.now)
            if wait.isOn(isGoingOn ? began : now) || isGoingOn && began < wait.noted && wait.noted <= now {
                blocked.insert(row.user)
                let end = wait.isOn(now) ? wait.due : min(wait.due, now)
                due = min(due ?? end, end)
            }
            if row.sequence <= lanes[place].out || blocked.contains(row.user) { continue }
            if taken.count < request.count * request.batches { taken.append(index) }
        }
        return (taken, due)
    }

    func isCurrent(_ place: Int, _ holding: Holding) -> Bool {
        holds(place, holding) && lanes[place].revision == holding.revision
    }

    private func holds(_ place: Int, _ holding: Holding) -> Bool {
        lanes[place].owner != 0 && lanes[place].epoch == holding.epoch
    }

    mutating func settle(_ place: Int, _ settlements: [Settlement], _ holding: Holding, now: Date) -> Bool {
        let isHolder = holds(place, holding)
        for settlement in settlements {
            guard let index = rows.firstIndex(where: { $0.id == settlement.id }), rows[index].deliveries[place] != nil
            else { continue }
            switch settlement.outcome {
            case .delivered:
                if !isHolder { disturb(place, rows[index].sequence) }
                rows[index].deliveries[place] = nil
                lanes[place].ledger.delivered += 1
                lanes[place].pause = Wait()
            case .dropped(let reason, _) where isHolder:
                rows[index].deliveries[place] = nil
                lanes[place].ledger.dropped[reason, default: 0] += 1
            case .retry(let date, let attempts, _) where isHolder:
                rows[index].deliveries[place]?.wait = Wait(noted: now, due: date)
                rows[index].deliveries[place]?.attempts = attempts
            default: break
            }
        }
        rows.removeAll { $0.deliveries.isEmpty }
        return isCurrent(place, holding)
    }

    mutating func release(_ place: Int, _ holding: Holding, pause: Date?, now: Date) {
        guard holds(place, holding) else { return }
        lanes[place].owner = 0
        lanes[place].out = 0
        if let pause { lanes[place].pause = Wait(noted: now, due: pause) }
    }
}
