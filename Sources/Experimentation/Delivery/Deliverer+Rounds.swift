import Foundation

/// Rounds: lease, and send batch after batch.
extension Deliverer {
    /// Longer than any delivery: the lease of a process that died expires after this.
    private static let lease: Duration = .seconds(120)
    /// The number of batches leased ahead at once: reading more of them in one go would keep a processor from the
    /// request under way.
    private static let batchesAhead = 2
    /// How long to wait before looking again at events of users whose denial the store couldn't carry out.
    private static let passedOverWait: Duration = .seconds(10)
    /// How often to ask for a lane that another process holds.
    private static let busyWait: Duration = .seconds(1)

    func deliver() async {
        isRunning = true
        alarm.change { schedule, _ in schedule.begin() }
        let ending = await nextRound()
        round = nil
        sending = nil
        ended = alarm.change { schedule, now in
            schedule.ended(ending, at: now, jitter: environment.jitter())
            return schedule
        }
        if ending != .again { endRun() }
    }

    /// Releases the lane that the last round left to the next one, if that hasn't come; otherwise other deliverers
    /// would wait for the lease to expire.
    func releaseLeftOver() async {
        guard let token = leftOver.take() else { return }
        do throws(ExperimentationError) {
            try await store.release(token, pause: nil, now: clock.now)
        } catch {
            _ = ending(nil, despite: error)
        }
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
            try await conclude()
            try await owed.carryOut()
            if let age = policy.maximumAge {
                let oldest = clock.now - age.seconds
                _ = try await store.expire(before: oldest, owedTo: destination, now: began.date)
            }
            switch try await store.lease(request(batches: 1, now: began.date)) {
            case .leased(let lease):
                leftOver = nil
                var round = DeliveryRound(lease, unanswered: unanswered, largest: policy.largest)
                if alarm.schedule.refusals.isProbing { round.stopLeasing() }
                self.round = round
                return await play(under: lease.token, began)
            case .nothing(let date):
                leftOver = nil
                return .nothing(until: date.map(began.instant))
            case .busy(let date):
                return .busy(until: min(began.instant(of: date), began.instant.advanced(by: Self.busyWait)))
            case .paused(let date):
                return .outage(asked: began.instant.duration(to: began.instant(of: date)))
            case .lost:
                return .again
            }
        } catch {
            return ending(nil, despite: error)
        }
    }

    func request(batches: Int, now: Date, after token: LeaseToken? = nil) -> LeaseRequest {
        let isProbing = alarm.schedule.refusals.isProbing
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

    /// How a round ended.
    struct End {
        var ending: DeliverySchedule.Ending
        /// What to report to the lane.
        var pause: DeliveryPause?
    }

    /// Leases the next batches while others are sent.
    private struct LookAhead {
        /// When they were requested; the lease counts from then.
        var asked: Instant
        var answer: Task<Result<LeaseAnswer, ExperimentationError>, Never>
        /// Opens once there is an answer.
        var isAnswered: AsyncGate
    }

    /// Sends leased batches, including those leased meanwhile, until the round is over; then releases the lane.
    private func play(under token: LeaseToken, _ began: Moment) async -> DeliverySchedule.Ending {
        var ahead: LookAhead?
        var end: End
        do throws(ExperimentationError) {
            end = try await sendAll(under: token, began, &ahead)
        } catch {
            end = End(ending: ending(nil, despite: error))
        }
        // Otherwise batches could be leased after the lane's next holder has taken it.
        _ = await ahead?.answer.value
        do throws(ExperimentationError) {
            try await conclude()
            if end.ending == .again, alarm.holds.isEmpty, !Task.isCancelled {
                leftOver = token
                return .again
            }
            try await store.release(token, pause: end.pause, now: now(since: began))
        } catch {
            end.ending = ending(end.ending, despite: error)
        }
        return end.ending
    }

    /// Logs a failure of the store and returns how the round ends: as an outage, unless the vendor's answer takes
    /// precedence.
    func ending(
        _ ending: DeliverySchedule.Ending?,
        despite error: ExperimentationError
    ) -> DeliverySchedule.Ending {
        environment.log.log(.error, "outbox.store", "Delivery to \(destination) ended: \(error)")
        switch ending {
        case .refused?: return .refused
        case .outage(let asked?)?: return .outage(asked: asked)
        default: return .outage()
        }
    }

    private func sendAll(
        under token: LeaseToken,
        _ began: Moment,
        _ ahead: inout LookAhead?
    ) async throws(ExperimentationError) -> End {
        var leased = began.instant
        while true {
            if round?.isExhausted == true, let next = ahead {
                // The store may take long to lease; otherwise the previous answer is recorded during the next request.
                if !next.isAnswered.isOpen { try await conclude() }
                let answer = await next.answer.value
                (ahead, leased) = (nil, next.asked)
                switch try answer.get() {
                case .leased(let lease): round?.add(lease, largest: policy.largest)
                default: round?.end()
                }
            }
            let batch = round?.next(leavingOut: owed.users)
            if ahead == nil, round?.wantsMore == true {
                ahead = look(for: request(batches: Self.batchesAhead, now: now(since: began), after: token))
            }
            guard let batch else {
                // Everything that was leased belongs to users whose denial is owed: other users' events come after it.
                if ahead != nil, round?.isOver == false { continue }
                break
            }
            sending = Sending(batch: batch)
            guard try await store.isCurrent(token), round?.isOver == false else { return End(ending: .again) }
            // A hold may have been set while the store leased the batch.
            guard alarm.holds.isEmpty, !Task.isCancelled else { return End(ending: .held) }
            if let end = await send(batch, under: token, began) { return end }
            // A delivery must not outlive its lease: none begins in its second half.
            if leased.duration(to: environment.time.instant) > Self.lease / 2 { return End(ending: .again) }
        }
        return End(ending: ending(began))
    }

    /// Returns how a round ends once it has sent everything it was handed.
    private func ending(_ began: Moment) -> DeliverySchedule.Ending {
        if round?.hasPassedOver == true { return .waits(until: later(Self.passedOverWait)) }
        guard case .nothing(let date)? = round?.remainder else { return .again }
        // What has become due meanwhile belongs to this run: a flush waits for it.
        if let date, date <= now(since: began) { return .again }
        return .nothing(until: date.map(began.instant))
    }

    private func look(for request: LeaseRequest) -> LookAhead {
        let isAnswered = AsyncGate()
        return LookAhead(
            asked: environment.time.instant,
            answer: Task { [store] in
                defer { isAnswered.open() }
                do throws(ExperimentationError) { return .success(try await store.lease(request)) } catch {
                    return .failure(error)
                }
            },
            isAnswered: isAnswered
        )
    }

    func later(_ wait: Duration) -> Instant { environment.time.instant.advanced(by: wait) }

    /// The time in a round that began at a given moment; setting the clock meanwhile makes no wait longer or shorter.
    func now(since began: Moment) -> Date { began.date(at: environment.time.instant) }
}
