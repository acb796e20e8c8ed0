@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// A destination's lane in its stored form.
struct StoredLane: Sendable {
    /// The destination's number in this file.
    let id: Int64
    /// The lane, with the ledger of everything accepted.
    var lane: OutboxLane
    /// The row counts what was accepted up to this sequence, and each of its deliveries has a row; later events are
    /// counted by themselves.
    ///
    /// So accepting an event writes neither this row nor those of deliveries. An operation on a delivery writes both
    /// first.
    var through: Int64
    /// Up to this sequence, deliveries that aren't held have been made and counted, although their rows may still
    /// exist; 0 if there are none.
    var head: Int64 = 0
    /// The deliveries that come first behind the head, in order, as far as the leases of this round have read them and
    /// nothing has happened to a delivery since.
    var front = Front()
    /// A lower bound of the dates of the events that are owed.
    var oldestDate = Double.infinity

    /// Deliveries known to come first in a lane.
    struct Front: Sendable {
        private var sequences: ArraySlice<Int64> = []
        /// Whether the next delivery read comes right behind these.
        private var isOpen = false

        /// Starts over, at the head.
        mutating func begin() { (sequences, isOpen) = ([], true) }

        /// Stops collecting: the next lease skips a delivery.
        mutating func end() { isOpen = false }

        /// Adds the next delivery.
        mutating func add(_ sequence: Int64) { if isOpen { sequences.append(sequence) } }

        /// Removes these from the front.
        ///
        /// - Returns: Whether they are there, in this order; otherwise nothing is removed.
        mutating func remove(_ settlements: [Settlement]) -> Bool {
            guard sequences.count >= settlements.count, zip(settlements, sequences).allSatisfy({ $0.sequence == $1 })
            else { return false }
            sequences.removeFirst(settlements.count)
            return true
        }
    }

    /// Creates a lane for a destination that is new to the file.
    init(new destination: Destination, through: Int64, _ database: Database) throws {
        lane = OutboxLane(of: destination)
        self.through = through
        try database.cachedStatement(
            sql: """
                INSERT INTO destination (provider, account, owner, epoch, revision, leased, until, out, paused, resumes, tried,
                    accepted, through, delivered, purged, head)
                VALUES (?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ?, 0, 0, 0)
                """
        ).execute(arguments: [destination.provider, destination.account, through])
        id = database.lastInsertedRowID
    }

    /// All lanes of a file.
    static func all(_ database: Database) throws -> [StoredLane] {
        let rows = try Row.fetchAll(database.cachedStatement(sql: "SELECT * FROM destination ORDER BY id"))
        return try rows.map { try StoredLane($0, database) }
    }

    private init(_ row: Row, _ database: Database) throws {
        id = row["id"]
        through = row["through"]
        head = row["head"]
        lane = OutboxLane(of: Destination(provider: row["provider"], account: row["account"]))
        lane.owner = row["owner"]
        lane.epoch = row["epoch"]
        lane.revision = row["revision"]
        lane.lease = .init(noted: Self.date(row["leased"]), due: Self.date(row["until"]))
        lane.out = row["out"]
        lane.trouble.pause = .init(noted: Self.date(row["paused"]), due: Self.date(row["resumes"]))
        lane.trouble.reason = row["reason"]
        lane.trouble.tried = row["tried"]
        let later = try database.cachedStatement(
            sql: "SELECT count(*) FROM tail WHERE destination = ?"
        )
        let accepted: Int = row["accepted"]
        lane.ledger.accepted = accepted + (try Int.fetchOne(later, arguments: [id]) ?? 0)
        lane.ledger.delivered = row["delivered"]
        lane.ledger.purged = row["purged"]
        let dropped = try database.cachedStatement(sql: "SELECT reason, count FROM dropped WHERE destination = ?")
        for row in try Row.fetchAll(dropped, arguments: [id]) {
            lane.ledger.dropped[Ledger.DropReason(rawValue: row[0])] = row[1]
        }
    }

    private static func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    /// Writes the lane, without the drop counts.
    func write(_ database: Database) throws {
        let update = try HotStatement(
            """
            UPDATE destination SET owner = ?, epoch = ?, revision = ?, leased = ?, until = ?, out = ?, paused = ?, resumes = ?,
                reason = ?, tried = ?, accepted = ?, through = ?, delivered = ?, purged = ?, head = ?
            WHERE id = ?
            """,
            database
        )
        try update.bind(lane.owner, at: 1)
        try update.bind(lane.epoch, at: 2)
        try update.bind(lane.revision, at: 3)
        try update.bind(lane.lease.noted.timeIntervalSince1970, at: 4)
        try update.bind(lane.lease.due.timeIntervalSince1970, at: 5)
        try update.bind(lane.out, at: 6)
        try update.bind(lane.trouble.pause.noted.timeIntervalSince1970, at: 7)
        try update.bind(lane.trouble.pause.due.timeIntervalSince1970, at: 8)
        if let reason = lane.trouble.reason { try update.bind(reason, at: 9) } else { try update.bindNull(at: 9) }
        try update.bind(lane.trouble.tried, at: 10)
        try update.bind(lane.ledger.accepted, at: 11)
        try update.bind(through, at: 12)
        try update.bind(lane.ledger.delivered, at: 13)
        try update.bind(lane.ledger.purged, at: 14)
        try update.bind(head, at: 15)
        try update.bind(id, at: 16)
        try update.run()
    }

    /// Writes how far the vendor has taken the front, without the count of accepted events.
    func writeHead(_ database: Database) throws {
        let update = try HotStatement(
            "UPDATE destination SET paused = ?, resumes = ?, reason = ?, delivered = ?, head = ? WHERE id = ?",
            database
        )
        try update.bind(lane.trouble.pause.noted.timeIntervalSince1970, at: 1)
        try update.bind(lane.trouble.pause.due.timeIntervalSince1970, at: 2)
        if let reason = lane.trouble.reason { try update.bind(reason, at: 3) } else { try update.bindNull(at: 3) }
        try update.bind(lane.ledger.delivered, at: 4)
        try update.bind(head, at: 5)
        try update.bind(id, at: 6)
        try update.run()
    }

    /// Writes the lane's owner.
    func rename(_ database: Database) throws {
        try database.cachedStatement(sql: "UPDATE destination SET provider = ?, account = ? WHERE id = ?")
            .execute(arguments: [lane.destination.provider, lane.destination.account, id])
    }

    /// Whether a lease is the lane's current one.
    static func isCurrent(_ token: LeaseToken, _ database: Database) throws -> Bool {
        let select = try HotStatement(
            "SELECT owner <> 0 AND epoch = ? AND revision = ? FROM destination WHERE provider = ? AND account = ?",
            database
        )
        try select.bind(token.epoch, at: 1)
        try select.bind(token.revision, at: 2)
        try select.bind(token.destination.provider, at: 3)
        try select.bind(token.destination.account, at: 4)
        defer { select.reset() }
        return try select.step() && select.int(0) != 0
    }

    /// Takes lanes back from dead processes; called when no other process has the store open.
    static func takeBack(_ database: Database) throws {
        try database.execute(sql: "UPDATE destination SET owner = 0, out = 0 WHERE owner <> 0")
    }
}
