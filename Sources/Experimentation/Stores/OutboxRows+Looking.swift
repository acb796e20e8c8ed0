import Foundation

/// Inspecting waiting events.
extension OutboxRows {
    func status(of destination: Destination?, now: Date) -> OutboxStatus {
        var status = OutboxStatus()
        for row in rows {
            var isOwed = false
            for (place, delivery) in row.deliveries where destination.map({ lanes[place].destination == $0 }) ?? true {
                isOwed = true
                lanes[place].count(
                    OutboxLane.Waiting(
                        sequence: row.envelope.sequence,
                        isHeld: delivery.isHeld,
                        wait: delivery.wait,
                        reason: delivery.reason
                    ),
                    in: &status,
                    at: now
                )
            }
            guard isOwed else { continue }
            status.bytes += row.bytes
            status.oldest = status.oldest ?? row.envelope.date
        }
        return status
    }

    func ledger(of destination: Destination?) -> Ledger {
        lanes.indices.filter { place in destination.map { lanes[place].destination == $0 } ?? true }
            .reduce(Ledger()) { sum, place in
                var ledger = lanes[place].ledger
                ledger.pending = rows.count { $0.deliveries[place] != nil }
                return sum + ledger
            }
    }

    func waiting(after sequence: Int64, limit: Int) -> [WaitingEvent] {
        rows.lazy.filter { $0.envelope.sequence > sequence && !$0.isGone }.prefix(max(1, limit)).map { row in
            var envelope = row.envelope
            envelope.attempts = row.deliveries.values.map(\.attempts).max() ?? 0
            let deliveries = row.deliveries.sorted { $0.key < $1.key }.map { place, delivery in
                WaitingEvent.Delivery(
                    to: lanes[place].destination,
                    isHeld: delivery.isHeld,
                    attempts: delivery.attempts,
                    reason: delivery.reason ?? lanes[place].reason(for: row.envelope.sequence, isHeld: delivery.isHeld)
                )
            }
            return WaitingEvent(envelope: envelope, deliveries: deliveries)
        }
    }
}

extension OutboxLane {
    /// A waiting delivery.
    package struct Waiting {
        package var sequence: Int64
        package var isHeld: Bool
        package var wait: Wait
        package var reason: String?
    }

    /// The reason for an event that was part of an unanswered request.
    @_spi(StoredForm) public func reason(for sequence: Int64, isHeld: Bool) -> String? {
        !isHeld && sequence <= trouble.tried ? trouble.reason : nil
    }

    /// Adds a waiting delivery to a status.
    package func count(_ waiting: Waiting, in status: inout OutboxStatus, at now: Date) {
        if let reason = waiting.reason ?? reason(for: waiting.sequence, isHeld: waiting.isHeld) {
            status.failures[reason, default: 0] += 1
        }
        if waiting.isHeld {
            status.held += 1
        } else if let due = [waiting.wait, trouble.pause].filter({ $0.isOn(at: now) }).map(\.due).max() {
            status.delayed += 1
            status.nextAttempt = min(status.nextAttempt ?? due, due)
        } else if hasGivenOut(waiting.sequence, at: now) {
            status.leased += 1
        } else {
            status.ready += 1
        }
    }
}
