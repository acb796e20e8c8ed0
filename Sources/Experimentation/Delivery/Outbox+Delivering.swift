import Foundation

/// Sends a batch, and acts on what the vendor says of it.
extension Outbox {
    // MARK: Writing down

    /// Writes down what the store couldn't write down before.
    func settleTheRest() async throws(ExperimentationError) {
        let rest = unsettled
        guard !rest.isEmpty else { return }
        try await store.settle(rest)
        unsettled.removeFirst(rest.count)
    }

    func settle(_ settlements: [Settlement]) async throws(ExperimentationError) {
        do {
            try await settleBefore()
            guard !settlements.isEmpty else { return }
            try await store.settle(settlements)
            settled += 1
        } catch {
            unsettled += settlements
            throw error
        }
    }

    /// How many batches wait to be written down at most: they may arrive twice if the process dies.
    private static let mostAside = 16

    /// Has something written down while the next batches are sent.
    private func settleAside(_ settlements: [Settlement]) async throws(ExperimentationError) {
        aside.append(settlements)
        if aside.count >= Self.mostAside || settleFailure != nil { try await settleBefore() }
        startSettling()
    }

    func startSettling() {
        guard settling == nil, !aside.isEmpty else { return }
        settling = Task {
            let settlements = Array(self.aside.joined())
            self.aside = []
            do throws(ExperimentationError) {
                try await self.store.settle(settlements)
                self.settled += 1
            } catch {
                self.unsettled += settlements + self.aside.joined()
                self.aside = []
                self.settleFailure = error
            }
            self.settling = nil
            self.startSettling()
        }
    }

    /// Waits for what is being written down aside.
    func settleBefore() async throws(ExperimentationError) {
        await waitForSettling()
        if let settleFailure { throw settleFailure }
    }

    /// Waits until what stands aside now is written down, or can't be.
    func waitForSettling() async {
        // It is in what is being written, or in what is written next.
        for _ in 0..<2 { await settling?.value }
    }

    // MARK: Sending

    func remember(_ batch: [Envelope]) {
        // One batch at a time gets no answer; more than a few are batches whose events have gone.
        if unanswered.count >= 64 { unanswered = [:] }
        if let first = batch.first { unanswered[first.id] = batch }
    }

    struct Outcome {
        var goesOn = true
        var again: [Envelope] = []
        var blocked: Set<String> = []
    }

    /// When events are looked at again whose user has denied although they are still in the store.
    private static let deniedWait: Duration = .seconds(10)

    /// Sends events in one call of the adapter, and writes down what became of them.
    func send(_ part: consuming [Envelope], to sink: any EventSink) async throws(ExperimentationError) -> Outcome {
        let count = part.count
        var batch = consume part
        var denied: [Envelope] = []
        if !deniedUsers.isEmpty {
            denied = batch.filter { deniedUsers.contains($0.identity.id) && !$0.event.isConsentSignal }
            if !denied.isEmpty { batch.removeAll { deniedUsers.contains($0.identity.id) && !$0.event.isConsentSignal } }
        }
        // Their removal may be under way, or have failed: then they wait a little for another one. Nothing is waited for
        // before the rest is under way: a withdrawal would not find it.
        let back = backUntried(denied, after: Self.deniedWait)
        if batch.isEmpty {
            try await settle(back)
            return Outcome(blocked: Set(denied.map(\.identity.id)))
        }
        let name = (batch.count == count ? batch[0].batch : nil) ?? environment.makeID()
        for index in batch.indices { batch[index].batch = name }
        let task = Task { [batch] in await sink.deliver(batch) }
        isInterrupted = false
        let delivery = UnderWay(task: task, batch: batch)
        underWay = delivery
        let report = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        underWay = nil
        delivery.ended.open()

        let verdicts = report.verdicts(count: batch.count)
        var (outcome, settlements) = consequences(of: verdicts, for: batch)
        settlements += back
        inHand = outcome.again
        outcome.blocked.formUnion(denied.map(\.identity.id))
        if verdicts.allSatisfy(\.isNoAnswer) { remember(batch) }
        do {
            if outcome.blocked.isEmpty, outcome.again.isEmpty {
                try await settleAside(settlements)
            } else {
                try await settle(settlements)
            }
        } catch {
            _ = takeNote(of: report, verdicts, batch)
            throw error
        }
        outcome.goesOn = takeNote(of: report, verdicts, batch)
        return outcome
    }

    /// What becomes of the events of a batch, and what of that is to be written down.
    private func consequences(of verdicts: [Verdict?], for batch: [Envelope]) -> (Outcome, [Settlement]) {
        // The common case by itself: to look at each event as a whole costs more than all the rest.
        if verdicts.allSatisfy({ $0 == .delivered }) {
            return (Outcome(), batch.indices.map { .delivered(id: batch[$0].id) })
        }
        let (now, policy) = (roundNow, policy)
        let isWhole = DeliveryDecision.isRefusedAsAWhole(verdicts)
        var outcome = Outcome()
        var settlements: [Settlement] = []
        settlements.reserveCapacity(batch.count)
        for index in batch.indices {
            let decision = DeliveryDecision.about(
                batch[index],
                verdict: isWhole ? .split("refused with others") : verdicts[index],
                isAlone: batch.count == 1,
                policy: policy,
                now: now,
                jitter: environment.jitter()
            )
            switch decision {
            case .settle(let settlement):
                settlements.append(settlement)
                if case .retry = settlement { outcome.blocked.insert(batch[index].identity.id) }
            case .splitWithOthers: outcome.again.append(batch[index].named(nil))
            }
        }
        return (outcome, settlements)
    }

    // MARK: Learning

    /// Learns from a report: how long to pause, what to tell the client.
    ///
    /// - Returns: Whether to go on.
    private func takeNote(of report: DeliveryReport, _ verdicts: [Verdict?], _ batch: [Envelope]) -> Bool {
        var news = News(isDisabled: report.isDisabled)
        news.campaigns = report.campaigns.compactMap { received in
            batch.first { $0.id == received.eventID }.map { ($0, received.campaign) }
        }
        var isOutage = false
        var asked: Duration?
        for verdict in verdicts {
            switch verdict {
            case nil: isOutage = true
            case .outage(let after):
                isOutage = true
                if let after { asked = max(asked ?? .zero, RetrySchedule.clamped(after)) }
            case .stop(let error): news.stopped = error
            case .delivered: news.succeeded = true
            default: break
            }
        }
        news.settled = batch
        if !verdicts.allSatisfy(\.isFinal) { news.settled = zip(batch, verdicts).filter { $1.isFinal }.map(\.0) }
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
    func pause(for wait: Duration) -> ContinuousClock.Instant {
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

    /// Whether nothing more will come of the event.
    fileprivate var isFinal: Bool {
        switch self {
        case .delivered, .rejected: true
        default: false
        }
    }
}
