import Foundation

/// Which events are delivered next: round after round, until nothing is left that may be tried now.
///
/// A round begins with what the store has; while one batch is sent, the next ones are taken from the store. A round ends
/// when nothing more is there, when an event goes back to the store, and long before its leases do.
extension Outbox {
    /// Longer than any delivery: a lease that outlives its process is given back after this.
    private static let lease: Duration = .seconds(120)

    /// How many batches are leased at once at most; the number doubles while all goes well.
    private static let mostAtOnce = 4

    /// While fewer batches than this are ahead, more are leased: enough to send while the store waits for the disk.
    private static let mostAhead = 16

    /// What is known of the round under way.
    private struct Round {
        /// The time under which all its events are leased.
        let now: Date
        /// A delivery must not outlive its lease: none begins after this.
        let latestStart: ContinuousClock.Instant
        /// How many batches are leased next.
        var width: Int
        /// Whether nothing of it has been leased yet.
        var isFirst = true
        /// Whether the store may have more.
        var mayGoOn = true
        /// Users of whom an event goes back: they keep their later ones in the same order.
        var blocked: Set<String> = []
    }

    /// Delivers batch after batch until nothing is left that may be tried now.
    ///
    /// - Returns: When to try again, if there is something to wait for.
    func deliverAll() async -> ContinuousClock.Instant? {
        if let askedUntil, askedUntil > environment.time.instant { return askedUntil }
        askedUntil = nil
        outageEnds = nil
        waiting = 0
        do {
            try await settleTheRest()
            try await removeOwed()
            await followWithdrawals()
            let next = try await deliverRounds()
            try await settleBefore()
            return next
        } catch {
            // Nothing was given back to the store that failed; it is told the next time.
            if let leasing { ahead += (try? await leasing.value.get()) ?? [] }
            leasing = nil
            hasLeased = false
            try? await settleBefore()
            settleFailure = nil
            unsettled += aside.joined() + backUntried(inHand) + backUntried(ahead.joined())
            aside = []
            inHand = []
            ahead = []
            environment.log.log(.error, "outbox.store", "Delivery stopped: \(error)")
            failures += 1
            return pause(for: RetrySchedule.wait(beforeAttempt: failures, jitter: environment.jitter()))
        }
    }

    private func deliverRounds() async throws(ExperimentationError) -> ContinuousClock.Instant? {
        var width = 1
        while pauses.isEmpty, !Task.isCancelled, let sink {
            // As long as events count as leased by an earlier round, later ones of their users aren't given.
            try await settleBefore()
            let now = environment.time.now
            roundBegan = (now, environment.time.instant)
            if let age = policy.maximumAge { _ = try await store.expire(before: cautiousNow - age.seconds) }
            let latestStart = environment.time.instant.advanced(by: Self.lease / 2)
            var round = Round(now: now, latestStart: latestStart, width: width)
            purgedMeanwhile = []
            forgotten = []
            try await lineUp(try await store.lease(request(of: &round)), &round)
            if ahead.isEmpty { return try await nextAttempt(now: now) }
            guard try await deliver(&round, to: sink) else { return outageEnds }
            width = round.width
        }
        return nil
    }

    /// Delivers a round, in parts if need be.
    ///
    /// - Returns: Whether to go on with the next one.
    private func deliver(_ round: inout Round, to sink: any EventSink) async throws(ExperimentationError) -> Bool {
        while true {
            if ahead.isEmpty || hasLeased { try await takeLeased(&round) }
            guard var part = ahead.popLast() else { return true }
            round.blocked.formUnion(forgotten)
            if ahead.count < Self.mostAhead { leaseAside(&round) }
            if !round.blocked.isEmpty { part = try await free(part, round) }
            let outcome = try await send(consume part, to: sink)
            inHand = []
            round.blocked.formUnion(outcome.blocked)
            if outcome.again.count > 1 {
                let middle = (outcome.again.count + 1) / 2
                ahead.append(Array(outcome.again[middle...]))
                ahead.append(Array(outcome.again[..<middle]))
            } else if !outcome.again.isEmpty {
                ahead.append(outcome.again)
            }
            let isLate = environment.time.instant > round.latestStart
            if !outcome.goesOn || isLate || Task.isCancelled {
                try await giveBackAhead(&round)
                return outcome.goesOn
            }
        }
    }

    /// What may be sent of a part; the rest goes back.
    private func free(_ part: [Envelope], _ round: Round) async throws(ExperimentationError) -> [Envelope] {
        inHand = part.filter { !round.blocked.contains($0.identity.id) }
        try await settle(backUntried(part.filter { round.blocked.contains($0.identity.id) }))
        defer { inHand = [] }
        return inHand
    }

    // MARK: Leasing

    /// What is leased next, first of all or beside what is in hand.
    private func request(of round: inout Round) -> LeaseRequest {
        defer {
            round.isFirst = false
            round.mayGoOn = !isProbing
            round.width = min(round.width * 2, Self.mostAtOnce)
        }
        return LeaseRequest(
            batches: isProbing ? 1 : round.width,
            of: isProbing ? 1 : max(policy.largest, 1),
            bytes: policy.bytes,
            now: round.now,
            until: round.now + Self.lease.seconds,
            goesOn: !round.isFirst
        )
    }

    /// Has the next batches leased, if the round goes on.
    private func leaseAside(_ round: inout Round) {
        // Once a user is blocked, their next events would only go back and come again.
        guard leasing == nil, round.mayGoOn, round.blocked.isEmpty, pauses.isEmpty else { return }
        purgedMeanwhile = []
        leasing = Task { [wanted = request(of: &round)] in
            defer { self.hasLeased = true }
            do throws(ExperimentationError) { return .success(try await self.store.lease(wanted)) } catch {
                return .failure(error)
            }
        }
    }

    /// Waits for what is being leased.
    private func takeLeased(_ round: inout Round) async throws(ExperimentationError) {
        guard let leasing else { return }
        let result = await leasing.value
        self.leasing = nil
        hasLeased = false
        try await lineUp(try result.get(), &round)
    }

    /// Lines up what was leased behind what is ahead.
    private func lineUp(_ leased: [[Envelope]], _ round: inout Round) async throws(ExperimentationError) {
        // A batch that isn't full is the last.
        if (leased.last?.count ?? 0) < policy.largest { round.mayGoOn = false }
        if purgedMeanwhile.isEmpty { return ahead.insert(contentsOf: leased.flatMap(batches).reversed(), at: 0) }
        // Theirs were leased before they were removed, or are new: the next round asks again.
        let purged = purgedMeanwhile
        round.blocked.formUnion(purged)
        let rest = leased.map { $0.filter { !purged.contains($0.identity.id) } }.filter { !$0.isEmpty }
        ahead.insert(contentsOf: rest.flatMap(batches).reversed(), at: 0)
        try await settle(backUntried(leased.joined().filter { purged.contains($0.identity.id) }))
    }

    /// Gives everything back that was leased and not yet sent.
    private func giveBackAhead(_ round: inout Round) async throws(ExperimentationError) {
        try await takeLeased(&round)
        let batches = ahead
        ahead = []
        for batch in batches where batch.first?.batch != nil { remember(batch) }
        try await settle(backUntried(batches.joined()))
    }

    /// What to write down of events that were leased but not tried.
    func backUntried(_ events: some Sequence<Envelope>, after wait: Duration = .zero) -> [Settlement] {
        let date = roundNow + wait.seconds
        return events.map { .retry(id: $0.id, at: date, attempts: $0.attempts, reason: "") }
    }

    /// Parts leased events into batches: those that went out together and got no answer go out together again.
    private func batches(_ events: [Envelope]) -> [[Envelope]] {
        if unanswered.isEmpty { return [events] }
        var batches: [[Envelope]] = []
        var fresh: [Envelope] = []
        var index = 0
        while index < events.count {
            let before = unanswered.removeValue(forKey: events[index].id)
            if let before, before.map(\.id) == events[index...].prefix(before.count).map(\.id) {
                if !fresh.isEmpty { batches.append(fresh) }
                fresh = []
                let name = before.first?.batch
                batches.append(events[index..<(index + before.count)].map { $0.named(name) })
                index += before.count
            } else {
                fresh.append(events[index])
                index += 1
            }
        }
        if !fresh.isEmpty { batches.append(fresh) }
        return batches
    }

    /// When to look again: when the next delayed event may be tried, or when a lease of a dead process is over.
    private func nextAttempt(now: Date) async throws(ExperimentationError) -> ContinuousClock.Instant? {
        let status = try await store.status(now: now)
        var wait = status.nextAttempt.map { Duration.seconds(min(max($0.timeIntervalSince(now), 0.001), 300)) }
        if status.leased > 0 { wait = min(wait ?? Self.lease, Self.lease) }
        return wait.map { environment.time.instant.advanced(by: $0) }
    }
}
