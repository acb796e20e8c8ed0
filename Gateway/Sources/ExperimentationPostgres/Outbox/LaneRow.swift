@_spi(StoredForm) import Experimentation
import Foundation

/// A destination's lane in one shard, as stored.
struct LaneRow: Sendable {
    /// Identifies a lane.
    struct Name: Sendable, Hashable {
        var shard: Int64
        var destination: Int64
    }

    let name: Name
    var lane: OutboxLane
    /// Nothing at or before this sequence number can be leased, so deleted rows there are never scanned again.
    var low: Int64
    /// The number of events whose bodies were deleted by this lane, and the bytes freed.
    var freedCount: Int64
    var freedBytes: Int64
    var dropped: [Ledger.DropReason: Int64] = [:]

    private static let columns = """
        shard, destination, owner, epoch, revision, lease_noted, lease_due, out, pause_noted, pause_due, reason, tried, low,
        delivered, purged, freed_count, freed_bytes
        """

    /// Decodes a row of `columns`.
    init(_ row: Row, of destination: Destination) {
        name = Name(shard: row.whole(0), destination: row.whole(1))
        lane = OutboxLane(of: destination)
        lane.owner = row.whole(2)
        lane.epoch = row.whole(3)
        lane.revision = row.whole(4)
        lane.lease = OutboxLane.Wait(noted: row.date(5), due: row.date(6))
        lane.out = row.whole(7)
        lane.trouble.pause = OutboxLane.Wait(noted: row.date(8), due: row.date(9))
        lane.trouble.reason = row.outside(10)
        lane.trouble.tried = row.whole(11)
        low = row.whole(12)
        lane.ledger.delivered = Int(row.whole(13))
        lane.ledger.purged = Int(row.whole(14))
        freedCount = row.whole(15)
        freedBytes = row.whole(16)
    }

    /// The highest sequence number that an active lease may cover.
    func givenOut(at now: Date) -> Int64 { lane.isHeld(at: now) ? lane.out : 0 }

    /// Counts dropped events.
    mutating func drop(_ count: Int = 1, for reason: Ledger.DropReason) { dropped[reason, default: 0] += Int64(count) }

    // MARK: Statements

    /// Locks one lane.
    static func locking(_ name: Name) -> Statement {
        Statement(
            "SELECT \(columns) FROM lane WHERE shard = $1 AND destination = $2 FOR UPDATE",
            .whole(name.shard),
            .whole(name.destination)
        )
    }

    /// Locks all lanes of some shards, in the global lock order.
    static func locking(shards: [Int64]) -> Statement {
        Statement(
            "SELECT \(columns) FROM lane WHERE shard = ANY($1) ORDER BY shard, destination FOR UPDATE",
            .wholes(shards)
        )
    }

    /// Locks all lanes of a destination, in the global lock order.
    static func locking(destination: Int64) -> Statement {
        Statement(
            "SELECT \(columns) FROM lane WHERE destination = $1 ORDER BY shard FOR UPDATE",
            .whole(destination)
        )
    }

    /// Locks all lanes held by some owners, in the global lock order.
    static func locking(owners: [Int64]) -> Statement {
        Statement(
            "SELECT \(columns) FROM lane WHERE owner = ANY($1) ORDER BY shard, destination FOR UPDATE",
            .wholes(owners)
        )
    }

    /// Reads the lanes of a destination; all lanes if `nil`.
    static func reading(_ destination: Int64?) -> Statement {
        Statement(
            "SELECT \(columns) FROM lane WHERE $1 = 0 OR destination = $1 ORDER BY shard, destination",
            .whole(destination ?? 0)
        )
    }

    /// Writes the lane and its drop counts.
    var writing: [Statement] {
        let row = Statement(
            """
            UPDATE lane SET owner = $3, epoch = $4, revision = $5, lease_noted = $6, lease_due = $7, out = $8, pause_noted = $9,
              pause_due = $10, reason = $11, tried = $12, low = $13, delivered = $14, purged = $15, freed_count = $16,
              freed_bytes = $17
            WHERE shard = $1 AND destination = $2
            """,
            .whole(name.shard),
            .whole(name.destination),
            .whole(lane.owner),
            .whole(lane.epoch),
            .whole(lane.revision),
            .date(lane.lease.noted),
            .date(lane.lease.due),
            .whole(lane.out),
            .date(lane.trouble.pause.noted),
            .date(lane.trouble.pause.due),
            .bytes(lane.trouble.reason.map { Array($0.utf8) }),
            .whole(lane.trouble.tried),
            .whole(low),
            .whole(Int64(lane.ledger.delivered)),
            .whole(Int64(lane.ledger.purged)),
            .whole(freedCount),
            .whole(freedBytes)
        )
        guard !dropped.isEmpty else { return [row] }
        let reasons = dropped.sorted { $0.key.rawValue < $1.key.rawValue }
        return [
            row,
            Statement(
                """
                INSERT INTO dropped SELECT $1, $2, reason, count FROM unnest($3::bytea[], $4::bigint[]) AS a(reason, count)
                ON CONFLICT (shard, destination, reason) DO UPDATE SET count = dropped.count + excluded.count
                """,
                .whole(name.shard),
                .whole(name.destination),
                .blobs(reasons.map { Array($0.key.rawValue.utf8) }),
                .wholes(reasons.map(\.value))
            ),
        ]
    }

    // MARK: Tokens

    /// The token for callers, whose epoch encodes the lane's shard.
    var token: LeaseToken { Self.outer(lane.token, shard: name.shard) }

    static func outer(_ token: LeaseToken, shard: Int64) -> LeaseToken {
        LeaseToken(
            destination: token.destination,
            epoch: token.epoch * Int64(StoreSchema.mostShards) + shard,
            revision: token.revision
        )
    }

    /// Decodes a caller's token into the lane's token and the shard.
    static func inner(_ token: LeaseToken) -> (token: LeaseToken, shard: Int64) {
        let (epoch, shard) = token.epoch.quotientAndRemainder(dividingBy: Int64(StoreSchema.mostShards))
        return (LeaseToken(destination: token.destination, epoch: epoch, revision: token.revision), shard)
    }
}
