import Foundation

/// Rounds: lease, send, settle.
extension Deliverer {
    /// Longer than any delivery: the lease of a process that died expires after this.
    private static let lease: Duration = .seconds(120)
    /// The maximum number of batches leased at once; the number doubles while all goes well.
    private static let mostAtOnce = 4
    /// How long to wait before looking again at events of users whose denial the store couldn't carry out.
    private static let passedOverWait: Duration = .seconds(10)
    /// How often to ask for a lane that another process holds.
    private static let busyWait: Duration = .seconds(1)

    func deliver() async {
        isRunning = true
        schedule.begin()
        let ending = await nextRound()
        round = nil
        sending = nil
        schedule.ended(ending, at: environment.time.instant, jitter: environment.jitter())
        if ending != .again { endRun() }
    }

    /// Resumes callers that wait for a run: it has ended, or there will be none.
    func endRun() {
        isRunning = false
        runEnded.open()
        runEnded = AsyncGate()
    }

    /// Runs a round and returns how it ended.
    func nextRound() async -> DeliverySchedule.Ending {
        let began = Moment(environment.time)
        do throws(ExperimentationError) {
            try await writer.write()
            await owed.carryOut()
            if let age = policy.maximumAge {
                let oldest = clock.now - age.seconds
                _ = try await store.expire(before: oldest, owedTo: destination, now: began.date)
            }
            let isProbing = schedule.refusals.isProbing
            let answer = try await store.lease(request(batches: 1, now: began.date))
            wasBusy = false
            switch answer {
            case .leased(let lease):
                var round = DeliveryRound(lease, unanswered: unanswered, largest: policy.largest)
                if isProbing { round.stopLeasing() }
                self.round = round
                return try await play(under: lease.token, began)
            case .nothing(let date):
                return date.map { .waits(until: began.instant(of: $0)) } ?? .empty
            case .busy(let date):
                wasBusy = true
                return .waits(until: min(began.instant(of: date), began.instant.advanced(by: Self.busyWait)))
            case .paused(let date):
                return .outage(asked: began.instant.duration(to: began.instant(of: date)))
            case .lost:
                return .again
            }
        } catch {
            environment.log.log(.error, "outbox.store", "Delivery to \(destination) ended: \(error)")
            return .outage()
        }
    }

    func request(batches: Int, now: Date, after token: LeaseToken? = nil) -> LeaseRequest {
        let isProbing = schedule.refusals.isProbing
        return LeaseRequest(
            for: destination,
            owner: owner,
            batches: isProbing ? 1 : batches,
            of: isProbing ? 1 : max(policy.largest, 1),
            bytes: policy.bytes,
            now: now,
            until: now + Self.lease.seconds,
            after: token
        )
    }

    /// Sends what was leased, and what is leased meanwhile, until the round is over.
    func play(under token: LeaseToken, _ began: Moment) async throws(ExperimentationError) -> DeliverySchedule.Ending {
        var last: DeliveryEvent?
        do throws(ExperimentationError) {
            let (ending, pause) = try await sendAll(under: token, began, &last)
            try await conclude(&last)
            if ending != .again { try await store.release(token, pause: pause, now: now(since: began)) }
            return ending
        } catch {
            try? await conclude(&last)
            throw error
        }
    }

    private func sendAll(
        under token: LeaseToken,
        _ began: Moment,
        _ last: inout DeliveryEvent?
    ) async throws(ExperimentationError) -> (DeliverySchedule.Ending, DeliveryPause?) {
        var width = 1
        var ahead: Task<Result<LeaseAnswer, ExperimentationError>, Never>?
        var leased = environment.time.instant
        var ending: DeliverySchedule.Ending?
        var pause: DeliveryPause?
        while ending == nil {
            if round?.isExhausted == true, let task = ahead {
                ahead = nil
                // The store may let the lease wait.
                try await conclude(&last)
                leased = environment.time.instant
                switch try await task.value.get() {
                case .leased(let lease): round?.add(lease.batches, largest: policy.largest)
                default: round?.end()
                }
            }
            guard let batch = round?.next(leavingOut: owed.users) else { break }
            if ahead == nil, round?.wantsMore == true {
                width = min(width * 2, Self.mostAtOnce)
                let request = request(batches: width, now: now(since: began), after: token)
                ahead = Task { [store] in
                    do throws(ExperimentationError) { return .success(try await store.lease(request)) } catch {
                        return .failure(error)
                    }
                }
            }
            sending = Sending(batch: batch)
            guard try await store.isCurrent(token), round?.isOver == false else {
                ending = .again
                break
            }
            (ending, pause) = try await send(batch, under: token, began, &last)
            // A delivery must not outlive its lease: none begins in its second half.
            if ending == nil, leased.duration(to: environment.time.instant) > Self.lease / 2 { ending = .again }
        }
        // What is leased now would otherwise be handed out after the lane's next holder has taken it.
        _ = await ahead?.value
        if let ending { return (ending, pause) }
        return (round?.hasPassedOver == true ? .waits(until: later(Self.passedOverWait)) : .again, pause)
    }

    func later(_ wait: Duration) -> Instant { environment.time.instant.advanced(by: wait) }

    /// The time in a round that began at a given moment; setting the clock meanwhile makes no wait longer or shorter.
    func now(since began: Moment) -> Date { began.date(at: environment.time.instant) }

    // MARK: Requests

    /// Sends a batch in one call of the adapter, and meanwhile concludes the previous one.
    ///
    /// - Parameters:
    ///   - batch: The events.
    ///   - token: The lease.
    ///   - began: When the round began.
    ///   - last: What the client must be told of the previous answer, then of this one.
    /// - Returns: How the round ends, if it does.
    /// - Throws: Why the previous answer couldn't be written down.
    func send(
        _ batch: [Envelope],
        under token: LeaseToken,
        _ began: Moment,
        _ last: inout DeliveryEvent?
    ) async throws(ExperimentationError) -> (DeliverySchedule.Ending?, DeliveryPause?) {
        let request = Task { [sink, environment, destination] in
            await environment.delivered(batch, to: destination) { await sink.deliver(batch) }
        }
        sending = Sending(batch: batch, request: request)
        var failure: ExperimentationError?
        do throws(ExperimentationError) { try await conclude(&last) } catch { failure = error }
        let report = await withTaskCancellationHandler {
            await request.value
        } onCancel: {
            request.cancel()
        }
        let isWithdrawn = sending?.isWithdrawn == true
        sending = nil
        let verdicts = report.verdicts(count: batch.count)
        unanswered = verdicts.allSatisfy(\.isNoAnswer) ? batch.map(\.id) : []
        let now = now(since: began)
        let consequences =
            round?.answered(verdicts, to: batch, policy: policy, now: now, jitter: environment.jitter)
            ?? DeliveryRound.Consequences()
        await writer.add(consequences.settlements, under: token, at: now)
        counters.settled(consequences.settlements, of: batch)
        last = heed(report, verdicts, batch)
        if let failure { throw failure }
        if case .refused(let error) = consequences.failure {
            return (.refused, DeliveryPause(reason: error.description, through: batch.last?.sequence ?? 0))
        }
        // What was interrupted has not failed.
        if isWithdrawn || round?.isOver == true { return (.again, nil) }
        if case .outage(let reason) = consequences.failure {
            let until = consequences.asked.map { now + $0.seconds }
            let pause = DeliveryPause(until: until, reason: reason.rawValue, through: batch.last?.sequence ?? 0)
            return (.outage(asked: consequences.asked), pause)
        }
        if !schedule.holds.isEmpty || Task.isCancelled { return (.held, nil) }
        return (nil, nil)
    }

    /// Changes the schedule as an answer demands.
    ///
    /// - Returns: What to tell the client.
    func heed(_ report: DeliveryReport, _ verdicts: [Verdict?], _ batch: [Envelope]) -> DeliveryEvent {
        var event = DeliveryEvent(report, verdicts, to: batch)
        if report.isDisabled, heedsKillSwitch { schedule.set(.disabled, true) }
        if event.refusal == nil, verdicts.contains(.delivered) { event.hasResumed = schedule.succeeded() }
        return event
    }

    /// Writes down an answer, and tells the client of it even if that fails.
    func conclude(_ answer: inout DeliveryEvent?) async throws(ExperimentationError) {
        let event = answer.take()
        var failure: ExperimentationError?
        do throws(ExperimentationError) { try await writer.write() } catch { failure = error }
        if let event, !event.isEmpty { await events.send(event) }
        if let failure { throw failure }
    }
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
    /// What verdicts come to: failed, if the vendor has taken none.
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
