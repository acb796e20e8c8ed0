import Foundation

/// Leasing, settling and removing.
extension OutboxRows {
    mutating func lease(_ request: LeaseRequest) -> LeaseAnswer {
        let place = place(of: request.destination)
        switch lanes[place].admit(request) {
        case .refused(let answer): return answer
        case .from(let first, let turn):
            let (batches, hasMore, next) = batches(from: front(of: place), after: first, place, request, turn)
            lanes[place].out = max(lanes[place].out, batches.last?.last?.sequence ?? 0)
            if request.token == nil, batches.isEmpty {
                lanes[place].free()
                return .nothing(until: next)
            }
            let rest: Lease.Rest = hasMore ? .more : .nothing(until: next)
            return .leased(Lease(token: lanes[place].token, batches: batches, rest: rest))
        }
    }

    func batches(
        from front: Int,
        after first: Int64,
        _ place: Int,
        _ request: LeaseRequest,
        _ turn: OutboxLane.Turn
    ) -> (batches: [[Envelope]], hasMore: Bool, next: Date?) {
        var waiting: Set<ExactText> = []
        var next: Date?
        var batches: [[Envelope]] = []
        var size = 0
        for index in front..<rows.count {
            guard let delivery = rows[index].deliveries[place], !delivery.isHeld else { continue }
            if turn.isHeldBack(by: delivery.wait) {
                waiting.insert(rows[index].user)
                let end = turn.end(of: delivery.wait)
                next = min(next ?? end, end)
            }
            if rows[index].envelope.sequence <= first { continue }
            if !waiting.isEmpty, waiting.contains(rows[index].user) { continue }
            if let batch = batches.last, batch.count < max(1, request.count), size + rows[index].bytes <= request.bytes
            {
                size += rows[index].bytes
            } else if batches.count < max(1, request.batches) {
                batches.append([])
                size = rows[index].bytes
            } else {
                return (batches, true, next)
            }
            var envelope = rows[index].envelope
            envelope.attempts = delivery.attempts
            batches[batches.count - 1].append(envelope)
        }
        return (batches, false, next)
    }

    /// - Returns: Whether the lease is still current.
    mutating func settle(_ settlements: [Settlement], under token: LeaseToken, now: Date) -> Bool {
        let place = place(of: token.destination)
        let isHolder = lanes[place].holds(token)
        for settlement in settlements {
            guard let index = index(of: settlement.sequence), rows[index].envelope.id == settlement.id,
                rows[index].deliveries[place] != nil
            else { continue }
            switch settlement.outcome {
            case .delivered:
                lanes[place].ledger.delivered += 1
                lanes[place].succeed()
                if !isHolder { lanes[place].disturb(settlement.sequence) }
                end(index, at: place)
            case .dropped(let reason, _) where isHolder:
                lanes[place].ledger.dropped[reason, default: 0] += 1
                end(index, at: place)
            case .retry(let date, let attempts, let reason) where isHolder:
                rows[index].deliveries[place]?.wait = OutboxLane.Wait(noted: now, due: date)
                rows[index].deliveries[place]?.attempts = attempts
                if !reason.isEmpty { rows[index].deliveries[place]?.reason = reason }
            default: break
            }
        }
        compactIfSparse()
        return lanes[place].isCurrent(token)
    }

    func index(of sequence: Int64) -> Int? {
        let index = position(of: sequence)
        return index < rows.count && rows[index].envelope.sequence == sequence ? index : nil
    }

    // MARK: Removing

    mutating func expire(before date: Date, owedTo destination: Destination, now: Date) -> Int {
        let wanted = place(of: destination)
        guard let oldest = oldestDates[wanted], oldest < date else { return 0 }
        defer { oldestDates[wanted] = rows.lazy.filter { $0.deliveries[wanted] != nil }.map(\.envelope.date).min() }
        return remove { row, place, lanes in
            let isHeld = row.deliveries[place]?.isHeld == true
            guard place == wanted, row.envelope.date < date,
                isHeld || !lanes[place].hasGivenOut(row.envelope.sequence, at: now)
            else { return false }
            lanes[place].ledger.dropped[.expired, default: 0] += 1
            return true
        }
    }

    mutating func remove(owedTo destination: Destination, as account: RemovalAccount) -> Int {
        let wanted = place(of: destination)
        return remove { row, place, lanes in
            guard place == wanted else { return false }
            switch account {
            case .purged:
                if row.isKept { return false }
                lanes[place].ledger.purged += 1
            case .dropped(let reason): lanes[place].ledger.dropped[reason, default: 0] += 1
            }
            return true
        }
    }

    /// Removes deliveries for a caller that counts them.
    ///
    /// - Returns: How many were removed.
    mutating func remove(_ takes: (Row, Int, inout [OutboxLane]) -> Bool) -> Int {
        var removed = 0
        for index in rows.indices {
            for place in rows[index].deliveries.keys where takes(rows[index], place, &lanes) {
                if rows[index].deliveries[place]?.isHeld == false {
                    lanes[place].disturb(rows[index].envelope.sequence)
                }
                end(index, at: place)
                removed += 1
            }
        }
        // Compact at once, since nothing of a user who denies consent may remain.
        if removed > 0 { compact() }
        return removed
    }
}
