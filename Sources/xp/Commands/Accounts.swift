import ConformanceSubjects
import Experimentation
import Foundation

/// A ledger and an outbox status, formatted for output.
struct Accounts {
    private let status: OutboxStatus
    private let ledger: Ledger

    /// Creates accounts of one destination, or of all.
    init(_ status: OutboxStatus, _ ledger: Ledger) { (self.status, self.ledger) = (status, ledger) }

    /// The accounts as JSON members.
    var document: [String: FlagValue] {
        func time(_ date: Date?) -> FlagValue { date.map { .string($0.iso8601Milliseconds) } ?? .null }
        return [
            "ledger": ledger.document,
            "waiting": [
                "ready": .int(status.ready), "held": .int(status.held), "delayed": .int(status.delayed),
                "leased": .int(status.leased), "bytes": .int(status.bytes), "oldest": time(status.oldest),
                "nextAttempt": time(status.nextAttempt),
                "failures": .object(status.failures.mapValues { .int($0) }),
            ],
        ]
    }

    /// The accounts as lines of text.
    var lines: [String] {
        var lines = [
            "accepted   \(ledger.accepted)", "delivered  \(ledger.delivered)", "pending    \(ledger.pending)",
            "  ready    \(status.ready)", "  held     \(status.held)  (wait for consent)",
            "  delayed  \(status.delayed)  (wait after a failure)",
            "  leased   \(status.leased)  (being delivered)",
            "purged     \(ledger.purged)",
        ]
        let dropped = ledger.dropped.filter { $0.value > 0 }.sorted { $0.key.rawValue < $1.key.rawValue }
        lines += dropped.isEmpty ? ["dropped    0"] : dropped.map { "dropped    \($0.value)  (\($0.key.rawValue))" }
        if let oldest = status.oldest { lines.append("oldest     \(oldest.iso8601Milliseconds)") }
        if let next = status.nextAttempt { lines.append("next       \(next.iso8601Milliseconds)") }
        for (reason, count) in status.failures.sorted(by: { $0.key < $1.key }) {
            lines.append("why        \(count) × \(reason)")
        }
        return lines
    }
}
