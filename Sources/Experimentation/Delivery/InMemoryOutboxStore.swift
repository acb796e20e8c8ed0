import Foundation
import Synchronization

/// An outbox that lives as long as the process: bounded, ordered, with exact accounts, but lost with a crash.
public final class InMemoryOutboxStore: OutboxStore {
    private struct Row {
        var envelope: Envelope
        var bytes: Int
        var priority: Priority
        var isHeld: Bool
        var wait: Wait?
        var failure: String?

        func isWaiting(at now: Date) -> Bool { wait?.isOver(at: now) == false }
    }

    /// Why an event isn't given: it is being delivered, or it failed a moment ago.
    private struct Wait {
        var isLease: Bool
        var noted: Date
        var due: Date

        /// A wait that was noted in what is the future now belongs to a clock that was wrong.
        func isOver(at now: Date) -> Bool { now >= due || now < noted - 60 }
    }

    private struct State {
        var rows: [Row] = []
        var nextSequence: Int64 = 1
        var bytes = 0
        var ledger = Ledger()
        /// The time that was last told, for operations that aren't told any.
        var now = Date.distantPast
    }

    private let state = Mutex(State())
    private let maximumCount: Int
    private let maximumBytes: Int
    private let maximumEventBytes: Int

    /// Creates an empty outbox.
    ///
    /// - Parameters:
    ///   - maximumCount: How many events wait at most.
    ///   - maximumBytes: How many bytes their written forms take at most.
    ///   - maximumEventBytes: How large one event may be.
    public init(maximumCount: Int = 10_000, maximumBytes: Int = 20_000_000, maximumEventBytes: Int = 32_768) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
        self.maximumEventBytes = maximumEventBytes
    }

    /// Accepts events.
    public func append(_ envelopes: [Envelope], isHeld: Bool) async throws(ExperimentationError) {
        let sizes = try envelopes.map { envelope throws(ExperimentationError) in
            try EnvelopeCoding.size(of: envelope, limit: maximumEventBytes)
        }
        state.withLock { state in
            for (envelope, size) in zip(envelopes, sizes) {
                var envelope = envelope
                envelope.sequence = state.nextSequence
                state.nextSequence += 1
                state.rows.append(
                    Row(envelope: envelope, bytes: size, priority: envelope.event.priority, isHeld: isHeld)
                )
                state.bytes += size
                state.ledger.accepted += 1
            }
            while state.rows.count > maximumCount || state.bytes > maximumBytes {
                if !Self.dropLeastImportant(&state) { break }
            }
        }
    }

    /// Drops one event, but none that is being delivered: it would be counted as lost although the vendor may have it.
    private static func dropLeastImportant(_ state: inout State) -> Bool {
        let candidates = state.rows.lazy.filter { $0.wait?.isLease != true }
        guard let least = candidates.map(\.priority).min(),
            let victim = state.rows.firstIndex(where: { $0.priority == least && $0.wait?.isLease != true })
        else { return false }
        state.bytes -= state.rows[victim].bytes
        state.rows.remove(at: victim)
        state.ledger.dropped[.overflow, default: 0] += 1
        return true
    }

    /// Takes the next batches to deliver.
    public func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]] {
        let (limit, bytes, now) = (max(1, wanted.count), wanted.bytes, wanted.now)
        return state.withLock { state in
            state.now = now
            var waiting: Set<String> = []
            var taken: [[Int]] = []
            var size = 0
            for index in state.rows.indices {
                let row = state.rows[index]
                if row.isHeld { continue }
                if wanted.goesOn, let wait = row.wait, wait.isLease, wait.noted == now { continue }
                let user = row.envelope.identity.id
                if row.isWaiting(at: now) || waiting.contains(user) {
                    waiting.insert(user)
                    continue
                }
                if let batch = taken.last, batch.count < limit, size + row.bytes <= bytes {
                    taken[taken.count - 1].append(index)
                    size += row.bytes
                } else if taken.count < max(1, wanted.batches) {
                    taken.append([index])
                    size = row.bytes
                } else {
                    break
                }
            }
            return taken.map { batch in
                batch.map { index in
                    state.rows[index].wait = Wait(isLease: true, noted: now, due: wanted.until)
                    return state.rows[index].envelope
                }
            }
        }
    }

    /// Writes down what became of leased events.
    public func settle(_ settlements: [Settlement]) async throws(ExperimentationError) {
        state.withLock { state in
            var byID = Dictionary(settlements.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
            var kept: [Row] = []
            var end = 0
            // They mostly stand at the front: what is behind the last of them isn't touched.
            while !byID.isEmpty, end < state.rows.count {
                var row = state.rows[end]
                end += 1
                switch byID.removeValue(forKey: row.envelope.id) {
                case nil:
                    kept.append(row)
                case .delivered:
                    state.bytes -= row.bytes
                    state.ledger.delivered += 1
                case .dropped(_, let reason, _):
                    state.bytes -= row.bytes
                    state.ledger.dropped[reason, default: 0] += 1
                case .retry(_, let date, let attempts, let reason):
                    row.wait = Wait(isLease: false, noted: state.now, due: date)
                    row.envelope.attempts = attempts
                    if !reason.isEmpty { row.failure = reason }
                    kept.append(row)
                }
            }
            state.rows.replaceSubrange(..<end, with: kept)
        }
    }

    /// Lets held events of a user go.
    public func release(userID: String) async throws(ExperimentationError) {
        state.withLock { state in
            for index in state.rows.indices where state.rows[index].envelope.identity.id == userID {
                state.rows[index].isHeld = false
            }
        }
    }

    /// Removes a user's waiting events, but for the consent signal itself.
    public func purge(userID: String) async throws(ExperimentationError) -> Int {
        state.withLock { state in
            let before = state.rows.count
            state.rows.removeAll { row in
                guard row.envelope.identity.id == userID else { return false }
                if case .consentChanged = row.envelope.event.kind { return false }
                state.bytes -= row.bytes
                return true
            }
            let purged = before - state.rows.count
            state.ledger.purged += purged
            return purged
        }
    }

    /// Drops what is older than a moment.
    public func expire(before date: Date) async throws(ExperimentationError) -> Int {
        state.withLock { state in
            let before = state.rows.count
            state.rows.removeAll { row in
                guard row.envelope.date < date, row.wait?.isLease != true else { return false }
                state.bytes -= row.bytes
                return true
            }
            let expired = before - state.rows.count
            if expired > 0 { state.ledger.dropped[.expired, default: 0] += expired }
            return expired
        }
    }

    /// What waits.
    public func status(now: Date) async throws(ExperimentationError) -> OutboxStatus {
        state.withLock { state in
            var status = OutboxStatus(bytes: state.bytes, oldest: state.rows.first?.envelope.date)
            for row in state.rows {
                if let failure = row.failure { status.failures[failure, default: 0] += 1 }
                if row.isHeld {
                    status.held += 1
                } else if let wait = row.wait, !wait.isOver(at: now) {
                    if wait.isLease {
                        status.leased += 1
                    } else {
                        status.delayed += 1
                        status.nextAttempt = min(status.nextAttempt ?? wait.due, wait.due)
                    }
                } else {
                    status.ready += 1
                }
            }
            return status
        }
    }

    /// The events that wait, oldest first, page by page.
    public func waiting(
        after sequence: Int64 = 0,
        limit: Int = 1_000
    ) async throws(ExperimentationError) -> [WaitingEvent] {
        state.withLock { state in
            state.rows.lazy.filter { $0.envelope.sequence > sequence }.prefix(max(1, limit)).map { row in
                WaitingEvent(envelope: row.envelope, isHeld: row.isHeld, reason: row.failure)
            }
        }
    }

    /// The accounts.
    public func ledger() async throws(ExperimentationError) -> Ledger {
        state.withLock { state in
            var ledger = state.ledger
            ledger.pending = state.rows.count
            return ledger
        }
    }
}
