import Foundation

/// Requests: send a batch, act on the answer, and record it.
extension Deliverer {
    /// Sends a batch in one call of the adapter, and meanwhile concludes the previous one.
    ///
    /// - Returns: How the round ends, if it does.
    func send(_ batch: [Envelope], under token: LeaseToken, _ began: Moment) async -> End? {
        let request = Task { [sink, environment, destination] in
            await environment.delivered(batch, to: destination) { await sink.deliver(batch) }
        }
        sending = Sending(batch: batch, request: request)
        // In a task of its own, so that this thread goes on with the request and another one is woken for the rest.
        async let conclusion = concluded()
        let report = await withTaskCancellationHandler {
            await request.value
        } onCancel: {
            request.cancel()
        }
        let failure = await conclusion
        sending = nil
        let verdicts = report.verdicts(count: batch.count)
        unanswered = verdicts.allSatisfy(\.isNoAnswer) ? batch.map(\.id) : []
        let now = now(since: began)
        let consequences =
            round?.answered(verdicts, to: batch, policy: policy, now: now, jitter: environment.jitter)
            ?? DeliveryRound.Consequences()
        counters.settled(consequences.settlements, of: batch)
        var event = DeliveryEvent(report, verdicts, consequences.settlements, to: batch)
        apply(&event, verdicts)
        unwritten.append(Answered(settlements: consequences.settlements, token: token, date: now, event: event))
        let end = end(after: consequences, through: batch.last?.sequence ?? 0, now)
        guard let failure else { return end }
        return End(ending: ending(end?.ending, despite: failure), pause: end?.pause)
    }

    /// Returns how a round ends after an answer, if it does.
    private func end(after consequences: DeliveryRound.Consequences, through last: Int64, _ now: Date) -> End? {
        if case .refused(let error) = consequences.failure {
            return End(ending: .refused, pause: DeliveryPause(reason: error.description, through: last))
        }
        // An interrupted request hasn't failed.
        if round?.isOver == true { return End(ending: .again) }
        if case .outage(let reason) = consequences.failure {
            let until = consequences.asked.map { now + $0.seconds }
            let pause = DeliveryPause(until: until, reason: reason.rawValue, through: last)
            return End(ending: .outage(asked: consequences.asked), pause: pause)
        }
        return alarm.holds.isEmpty && !Task.isCancelled ? nil : End(ending: .held)
    }

    /// Updates the schedule from an answer, and the answer from the schedule.
    private func apply(_ event: inout DeliveryEvent, _ verdicts: [Verdict?]) {
        if event.isDisabled, heedsKillSwitch { set(.disabled, true) }
        if event.refusal == nil, verdicts.contains(.delivered) {
            event.hasResumed = alarm.change { schedule, _ in schedule.succeeded() }
        }
    }

    /// Records pending answers, and then reports each to the client, even if the store fails.
    ///
    /// If the process dies, the vendor may have two batches that the store doesn't know of: the one being recorded and
    /// the one being sent. Answers that a failing store can't record are kept, and the next round records them, so that
    /// their events aren't sent again.
    func conclude() async throws(ExperimentationError) {
        do throws(ExperimentationError) {
            while let answered = unwritten.first {
                if !answered.settlements.isEmpty {
                    _ = try await store.settle(answered.settlements, under: answered.token, now: answered.date)
                }
                unwritten.removeFirst()
                await tell(answered.event)
            }
        } catch {
            for index in unwritten.indices { await tell(unwritten[index].event.take()) }
            throw error
        }
    }

    /// Concludes, and returns the failure.
    private func concluded() async -> ExperimentationError? {
        do throws(ExperimentationError) { try await conclude() } catch { return error }
        return nil
    }

    private func tell(_ event: DeliveryEvent?) async { if let event, !event.isEmpty { await events.send(event) } }
}

extension ClientEnvironment {
    /// Hands a batch to an adapter, with the observer around it if there is one.
    fileprivate func delivered(
        _ batch: [Envelope],
        to destination: Destination,
        _ deliver: () async -> DeliveryReport
    ) async -> DeliveryReport {
        guard let operations else { return await deliver() }
        let operation = ObservedOperation.delivery(destination: destination.description, events: batch.count)
        return await operations.around(operation, isolation: nil) { _ in
            let report = await deliver()
            return (report, OperationOutcome(report.verdicts(count: batch.count)))
        }
    }
}

extension OperationOutcome {
    /// The combined outcome of verdicts: failed, if the vendor has taken no event.
    fileprivate init(_ verdicts: [Verdict?]) {
        delivered = verdicts.count { $0 == .delivered }
        guard delivered == 0, let verdict = verdicts.first else { return }
        error =
            switch verdict {
            case .stop(let failure)?: failure.code
            case nil, .outage?: .transport
            default: .vendorFault
            }
    }
}
