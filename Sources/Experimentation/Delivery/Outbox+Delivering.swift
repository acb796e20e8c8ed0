import Foundation

extension Outbox {
    /// Longer than any delivery: a lease that outlives its process is given back after this.
    private static let lease: Duration = .seconds(120)

    /// How many batches are leased at once at most; the number doubles while all goes well.
    private static let mostAhead = 8

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
            let next = try await deliverRounds()
            try await settleBefore()
            return next
        } catch {
            // Nothing was given back to the store that failed; it is told the next time.
            unsettled += backUntried(ahead.joined())
            ahead = []
            environment.log.log(.error, "outbox.store", "Delivery stopped: \(error)")
            failures += 1
            return pause(for: RetrySchedule.wait(beforeAttempt: failures, jitter: environment.jitter()))
        }
    }

    private func deliverRounds() async throws(ExperimentationError) -> ContinuousClock.Instant? {
        var width = 1
        while pauses.isEmpty, !Task.isCancelled, let sink {
            // As long as events count as leased, later ones of their users aren't given.
            try await settleBefore()
            let now = environment.time.now
            if let age = policy.maximumAge { _ = try await store.expire(before: cautiousNow - age.seconds) }
            let leased = try await store.lease(
                batches: isProbing ? 1 : width,
                of: isProbing ? 1 : max(policy.largest, 1),
                bytes: policy.bytes,
                now: now,
                until: now + Self.lease.seconds
            )
            if leased.isEmpty { return try await nextAttempt(now: now) }
            guard try await deliver(leased, to: sink) else { return outageEnds }
            width = min(width * 2, Self.mostAhead)
        }
        return nil
    }

    // MARK: Writing down

    /// Writes down what the store couldn't write down before.
    private func settleTheRest() async throws(ExperimentationError) {
        let rest = unsettled
        guard !rest.isEmpty else { return }
        try await store.settle(rest)
        unsettled.removeFirst(rest.count)
    }

    private func settle(_ settlements: [Settlement]) async throws(ExperimentationError) {
        try await settleBefore()
        guard !settlements.isEmpty else { return }
        do {
            try await store.settle(settlements)
            settled += 1
        } catch {
            unsettled += settlements
            throw error
        }
    }

    /// Has something written down while the next batch is sent.
    ///
    /// At most one batch is ahead of the store: that many events may arrive twice if the process dies.
    private func settleAside(_ settlements: [Settlement]) async throws(ExperimentationError) {
        try await settleBefore()
        settling = Task {
            do throws(ExperimentationError) {
                try await self.store.settle(settlements)
                self.settled += 1
                return nil
            } catch {
                self.unsettled += settlements
                return error
            }
        }
    }

    /// Waits for what is being written down aside.
    func settleBefore() async throws(ExperimentationError) {
        guard let settling else { return }
        let error = await settling.value
        // Somebody else may have waited for the same, and another may have begun.
        if self.settling == settling { self.settling = nil }
        if let error { throw error }
    }

    /// When to look again: when the next delayed event may be tried, or when a lease of a dead process is over.
    private func nextAttempt(now: Date) async throws(ExperimentationError) -> ContinuousClock.Instant? {
        let status = try await store.status(now: now)
        var wait = status.nextAttempt.map { Duration.seconds(min(max($0.timeIntervalSince(now), 0.001), 300)) }
        if status.leased > 0 { wait = min(wait ?? Self.lease, Self.lease) }
        return wait.map { environment.time.instant.advanced(by: $0) }
    }

    // MARK: Batches

    /// Parts leased events into batches: those that went out together and got no answer go out together again.
    private func batches(_ events: [Envelope]) -> [[Envelope]] {
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

    /// What to write down of events that were leased but not tried.
    private func backUntried(_ events: some Sequence<Envelope>) -> [Settlement] {
        let now = environment.time.now
        return events.map { .retry(id: $0.id, at: now, attempts: $0.attempts, reason: "") }
    }

    /// Gives everything back that was leased and not yet sent.
    private func giveBackAhead() async throws(ExperimentationError) {
        let batches = ahead
        ahead = []
        for batch in batches where batch.first?.batch != nil { remember(batch) }
        try await settle(backUntried(batches.joined()))
    }

    private func remember(_ batch: [Envelope]) {
        // One batch at a time gets no answer; more than a few are batches whose events have gone.
        if unanswered.count >= 64 { unanswered = [:] }
        if let first = batch.first { unanswered[first.id] = batch }
    }

    /// Delivers leased batches, in parts if need be.
    ///
    /// - Returns: Whether to go on with the next ones.
    private func deliver(
        _ leased: [[Envelope]],
        to sink: any EventSink
    ) async throws(ExperimentationError) -> Bool {
        ahead = leased.flatMap(batches).reversed()
        // A user of whom an event goes back keeps their later ones in the same order.
        var blocked: Set<String> = []
        let latestStart = environment.time.instant.advanced(by: Self.lease / 2)
        while let part = ahead.popLast() {
            var isFree = part
            if !blocked.isEmpty {
                isFree = part.filter { !blocked.contains($0.identity.id) }
                try await settle(backUntried(part.filter { blocked.contains($0.identity.id) }))
            }
            let outcome = try await send(isFree, to: sink)
            blocked.formUnion(outcome.blocked)
            if outcome.again.count > 1 {
                let middle = (outcome.again.count + 1) / 2
                ahead.append(Array(outcome.again[middle...]))
                ahead.append(Array(outcome.again[..<middle]))
            } else if !outcome.again.isEmpty {
                ahead.append(outcome.again)
            }
            // A delivery must not outlive its lease.
            let isLate = environment.time.instant > latestStart
            if !outcome.goesOn || isLate || Task.isCancelled {
                try await giveBackAhead()
                return outcome.goesOn
            }
        }
        return true
    }

    private struct Outcome {
        var goesOn = true
        var again: [Envelope] = []
        var blocked: Set<String> = []
    }

    /// Sends events in one call of the adapter, and writes down what became of them.
    private func send(_ part: [Envelope], to sink: any EventSink) async throws(ExperimentationError) -> Outcome {
        let allowed = part.filter { !deniedUsers.contains($0.identity.id) || $0.event.isConsentSignal }
        guard let first = allowed.first else { return Outcome() }
        let name = (allowed.count == part.count ? first.batch : nil) ?? environment.makeID()
        let batch = allowed.map { $0.named(name) }
        let task = Task { await sink.deliver(batch) }
        isInterrupted = false
        let delivery = UnderWay(
            task: task,
            users: Set(batch.filter { !$0.event.isConsentSignal }.map(\.identity.id))
        )
        underWay = delivery
        let report = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        underWay = nil
        delivery.ended.open()

        let now = environment.time.now
        let isWhole = DeliveryDecision.isRefusedAsAWhole(batch, report.verdicts)
        var outcome = Outcome()
        var settlements: [Settlement] = []
        for envelope in batch {
            let decision = DeliveryDecision.about(
                envelope,
                verdict: isWhole ? .split("refused with others") : report.verdicts[envelope.id],
                isAlone: batch.count == 1,
                policy: policy,
                now: now,
                jitter: environment.jitter()
            )
            switch decision {
            case .settle(let settlement):
                settlements.append(settlement)
                if case .retry = settlement { outcome.blocked.insert(envelope.identity.id) }
            case .splitWithOthers: outcome.again.append(envelope.named(nil))
            }
        }
        if batch.allSatisfy({ report.verdicts[$0.id].isNoAnswer }) { remember(batch) }
        do {
            if outcome.blocked.isEmpty, outcome.again.isEmpty {
                try await settleAside(settlements)
            } else {
                try await settle(settlements)
            }
        } catch {
            _ = takeNote(of: report, batch: batch)
            throw error
        }
        outcome.goesOn = takeNote(of: report, batch: batch)
        return outcome
    }

    // MARK: Learning

    /// Learns from a report: how long to pause, what to tell the client.
    ///
    /// - Returns: Whether to go on.
    private func takeNote(of report: DeliveryReport, batch: [Envelope]) -> Bool {
        var news = News(isDisabled: report.isDisabled)
        news.campaigns = report.campaigns.compactMap { received in
            batch.first { $0.id == received.eventID }.map { ($0, received.campaign) }
        }
        var isOutage = false
        var asked: Duration?
        for envelope in batch {
            switch report.verdicts[envelope.id] {
            case nil: isOutage = true
            case .outage(let after):
                isOutage = true
                if let after { asked = max(asked ?? .zero, RetrySchedule.clamped(after)) }
            case .stop(let error): news.stopped = error
            case .delivered:
                news.succeeded = true
                news.settled.append(envelope)
            case .rejected: news.settled.append(envelope)
            default: break
            }
        }
        if report.isDisabled { pauses.insert(.disabled) }
        if news.stopped != nil {
            stops += 1
            isProbing = false
            pauses.insert(.stopped)
            setProbe()
        } else if news.succeeded {
            news.hasResumed = stops > 0
            stops = 0
            isProbing = false
        }
        if !isOutage {
            failures = 0
        } else if isInterrupted {
            // Nobody failed: a user withdrew consent while their events were under way.
            waiting += 1
            isOutage = false
        } else {
            failures += 1
            waiting += 1
            let wait = asked ?? RetrySchedule.wait(beforeAttempt: failures, jitter: environment.jitter())
            let end = pause(for: wait)
            if asked != nil { askedUntil = end }
        }
        if news.isDisabled || news.stopped != nil || news.hasResumed || !news.settled.isEmpty || !news.campaigns.isEmpty
        {
            self.report(news)
        }
        return !isOutage && pauses.isEmpty
    }

    @discardableResult
    private func pause(for wait: Duration) -> ContinuousClock.Instant {
        let end = environment.time.instant.advanced(by: wait)
        outageEnds = end
        waiting = max(waiting, 1)
        return end
    }
}

extension Envelope {
    /// The same event as part of a batch.
    func named(_ batch: String?) -> Envelope {
        var envelope = self
        envelope.batch = batch
        return envelope
    }
}

extension Verdict? {
    /// Whether the vendor said nothing about the event itself.
    fileprivate var isNoAnswer: Bool {
        switch self {
        case nil, .outage: true
        default: false
        }
    }
}
