@_spi(StoredForm) import Experimentation
import Foundation

/// Accepts events: locks their shards, then checks consent, then writes the events.
struct Acceptance {
    private struct NewDelivery {
        var number: Int64
        var isHeld: Bool
    }

    private struct Accepted {
        var arrival: Arrivals.Arrival
        var body: [UInt8]
        var sequence: Int64
        var deliveries: [NewDelivery]
    }

    private struct Shard {
        var next: Int64
        var count: Int64
        var bytes: Int64
        /// The number of events that lanes had freed when they were read; it may have grown since.
        var freedCount: Int64 = 0
        var freedBytes: Int64 = 0
    }

    private let arrivals: Arrivals
    private let store: PostgresOutboxStore
    private let transaction: Transaction
    private let now: Date
    private var shards: [Int64: Shard] = [:]
    private var refusals: [ExperimentationError?]
    private var accepted: [Accepted] = []
    private var granted: Set<[UInt8]> = []

    init(_ arrivals: Arrivals, _ store: PostgresOutboxStore, _ transaction: Transaction, now: Date) {
        self.arrivals = arrivals
        self.store = store
        self.transaction = transaction
        self.now = now
        refusals = arrivals.refusals
    }

    /// - Returns: The error for each event that was refused and `nil` for the others, and the number of deliveries
    ///   dropped to make room.
    mutating func carryOut() throws(ConnectionFailure) -> ([ExperimentationError?], Int) {
        let denied = try lock()
        decide(denied)
        if !granted.isEmpty { try store.release(granted, transaction) }
        if accepted.isEmpty { return (refusals, 0) }
        insert()
        let full = shards.filter { isFull($0.value) }.keys.sorted()
        var overflowed = 0
        if !full.isEmpty { overflowed = try makeRoom(full) }
        for (number, shard) in shards.sorted(by: { $0.key < $1.key }) {
            transaction.later(
                Statement(
                    "UPDATE shard SET next = $2, count = $3, bytes = $4 WHERE shard = $1",
                    .whole(number),
                    .whole(shard.next),
                    .whole(shard.count),
                    .whole(shard.bytes)
                )
            )
        }
        return (refusals, overflowed)
    }

    /// Locks the shards, then looks up denials: a single statement for both would see the state before the lock.
    private mutating func lock() throws(ConnectionFailure) -> Set<[UInt8]> {
        let answers = try transaction.ask(
            Statement(
                "SELECT shard, next, count, bytes FROM shard WHERE shard = ANY($1) ORDER BY shard FOR UPDATE",
                .wholes(arrivals.shards)
            ),
            Statement("SELECT person FROM denied WHERE person = ANY($1)", .blobs(arrivals.marks)),
            Statement(
                """
                SELECT shard, sum(freed_count)::bigint, sum(freed_bytes)::bigint FROM lane WHERE shard = ANY($1) GROUP BY shard
                """,
                .wholes(arrivals.shards)
            )
        )
        for row in answers[0] {
            shards[row.whole(0)] = Shard(next: row.whole(1), count: row.whole(2), bytes: row.whole(3))
        }
        for row in answers[2] {
            shards[row.whole(0)]?.freedCount = row.whole(1)
            shards[row.whole(0)]?.freedBytes = row.whole(2)
        }
        return Set(answers[1].map { $0.bytes(0) })
    }

    /// Decides for each event whether it is accepted, in order.
    private mutating func decide(_ denials: Set<[UInt8]>) {
        var denied = denials
        for arrival in arrivals.all {
            let event = arrival.event
            if event.grantsConsent {
                denied.remove(arrival.mark)
                granted.insert(arrival.mark)
                for index in accepted.indices where accepted[index].arrival.mark == arrival.mark {
                    for delivery in accepted[index].deliveries.indices {
                        accepted[index].deliveries[delivery].isHeld = false
                    }
                }
            }
            guard let body = arrival.body else { continue }
            if denied.contains(arrival.mark), !event.envelope.isConsentSignal {
                refusals[arrival.place] = ExperimentationError(
                    .consentDenied,
                    "The user has denied consent; the event was not accepted."
                )
                continue
            }
            guard var shard = shards[arrival.shard] else {
                refusals[arrival.place] = ExperimentationError(.store, "The store has no row for a shard.")
                continue
            }
            let deliveries = event.deliveries.compactMap { delivery in
                store.destinationTable.number(of: delivery.destination)
                    .map { NewDelivery(number: $0, isHeld: delivery.isHeld) }
            }
            let sequence = shard.next * Int64(StoreSchema.mostShards) + arrival.shard
            shard.next += 1
            shard.count += 1
            shard.bytes += Int64(body.count)
            shards[arrival.shard] = shard
            accepted.append(Accepted(arrival: arrival, body: body, sequence: sequence, deliveries: deliveries))
        }
    }

    private func insert() {
        transaction.later(
            Statement(
                """
                INSERT INTO event (seq, shard, id, priority, body)
                SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[])
                """,
                .wholes(accepted.map(\.sequence)),
                .wholes(accepted.map(\.arrival.shard)),
                .blobs(accepted.map { Array($0.arrival.event.envelope.id.utf8) }),
                .wholes(accepted.map { Int64($0.arrival.event.envelope.event.priority.rawValue) }),
                .blobs(accepted.map(\.body))
            )
        )
        let rows = accepted.flatMap { accepted in accepted.deliveries.map { (accepted, $0) } }
        transaction.later(
            Statement(
                """
                INSERT INTO delivery (seq, shard, destination, held, person, kept, happened)
                SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bool[], $5::bytea[], $6::bool[], $7::float8[])
                """,
                .wholes(rows.map(\.0.sequence)),
                .wholes(rows.map(\.0.arrival.shard)),
                .wholes(rows.map(\.1.number)),
                .flags(rows.map(\.1.isHeld)),
                .blobs(rows.map(\.0.arrival.mark)),
                .flags(rows.map(\.0.arrival.event.envelope.isConsentSignal)),
                .reals(rows.map(\.0.arrival.event.envelope.date.timeIntervalSinceReferenceDate))
            )
        )
        var counts: [LaneRow.Name: Int64] = [:]
        for (accepted, delivery) in rows {
            counts[LaneRow.Name(shard: accepted.arrival.shard, destination: delivery.number), default: 0] += 1
        }
        transaction.later(
            Statement(
                """
                UPDATE intake i SET accepted = i.accepted + a.count
                FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS a(shard, destination, count)
                WHERE i.shard = a.shard AND i.destination = a.destination
                """,
                .wholes(counts.keys.map(\.shard)),
                .wholes(counts.keys.map(\.destination)),
                .wholes(Array(counts.values))
            )
        )
    }

    private func isFull(_ shard: Shard) -> Bool {
        shard.count - shard.freedCount > store.limits.count(for: store.shards)
            || shard.bytes - shard.freedBytes > store.limits.bytes(for: store.shards)
    }

    /// Drops the oldest of the least important events from overfull shards.
    ///
    /// - Returns: The number of deliveries.
    private mutating func makeRoom(_ full: [Int64]) throws(ConnectionFailure) -> Int {
        var lanes = try store.destinationTable.lanes(
            try transaction.rows(LaneRow.locking(shards: full)),
            transaction
        )
        var overflowed = 0
        for number in full {
            guard var shard = shards[number] else { continue }
            shard.freedCount = lanes.reduce(0) { $0 + ($1.name.shard == number ? $1.freedCount : 0) }
            shard.freedBytes = lanes.reduce(0) { $0 + ($1.name.shard == number ? $1.freedBytes : 0) }
            let own = lanes.filter { $0.name.shard == number }
            while isFull(shard) {
                let page = try transaction.rows(Self.leastImportant(number, own, now))
                if page.isEmpty { break }
                var victims: [Int64] = []
                for row in page where isFull(shard) {
                    victims.append(row.whole(0))
                    shard.count -= 1
                    shard.bytes -= row.whole(1)
                }
                let answers = try transaction.ask(
                    Statement(
                        """
                        DELETE FROM delivery
                        WHERE destination = ANY($1) AND shard = $2 AND held = ANY('{f,t}') AND seq = ANY($3)
                        RETURNING destination, held, seq
                        """,
                        .wholes(own.map(\.name.destination)),
                        .whole(number),
                        .wholes(victims)
                    ),
                    Statement("DELETE FROM event WHERE seq = ANY($1)", .wholes(victims))
                )
                for row in answers[0] {
                    overflowed += 1
                    let name = LaneRow.Name(shard: number, destination: row.whole(0))
                    guard let index = lanes.firstIndex(where: { $0.name == name }) else { continue }
                    lanes[index].drop(for: .overflow)
                    if !row.flag(1) { lanes[index].lane.disturb(row.whole(2)) }
                }
            }
            shards[number] = shard
        }
        for lane in lanes { for statement in lane.writing { transaction.later(statement) } }
        return overflowed
    }

    /// Selects a page of the least important deliveries that no active lease covers.
    private static func leastImportant(_ shard: Int64, _ lanes: [LaneRow], _ now: Date) -> Statement {
        Statement(
            """
            SELECT e.seq, length(e.body)::bigint FROM event e
            WHERE e.shard = $1 AND NOT EXISTS (
              SELECT FROM unnest($2::bigint[], $3::bigint[]) AS l(destination, out)
              JOIN delivery d ON d.destination = l.destination AND d.shard = $1 AND NOT d.held AND d.seq = e.seq
              WHERE e.seq <= l.out)
            ORDER BY e.priority, e.seq LIMIT 256
            """,
            .whole(shard),
            .wholes(lanes.map(\.name.destination)),
            .wholes(lanes.map { $0.givenOut(at: now) })
        )
    }
}
