@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// Reads everything that a store of schema 1 or 2 holds, around unreadable parts.
///
/// It had one ledger; its events are owed to the unclaimed destination, as when such a file is migrated.
struct FormerStoreReader {
    /// The database.
    let database: Database

    /// Whether the tables are of those schemas.
    static func fits(_ database: Database) -> Bool {
        let columns = try? Int.fetchOne(database, sql: "SELECT count(*) FROM pragma_table_info('event')")
        return columns == 8
    }

    /// Reads the contents.
    func contents() -> StoreContents {
        var contents = StoreContents()
        // Values are stored as they are now; the other tables don't exist.
        contents.values = StoreReader(database: database, copy: nil).contents().values
        let account = contents.owner.map { String(decoding: $0, as: UTF8.self) } ?? ""
        var lane = StoreContents.Lane(
            lane: OutboxLane(of: Destination(provider: "", account: account)),
            through: 0
        )
        let ledger = ledger()
        lane.hasHole.free = !readEvents(upTo: ledger?["sequence"] ?? 100_000, into: &contents, &lane)
        readAttempts(into: &lane)
        let highest = max(ledger?["sequence"] ?? 0, contents.events.keys.max() ?? 0)
        contents.lastSequence = highest
        lane.through = highest
        if let ledger {
            lane.lane.ledger.accepted = Int(highest - min(highest, ledger["offset"] ?? 0))
            lane.lane.ledger.delivered = Int(ledger["delivered"] ?? 0)
            lane.lane.ledger.purged = Int(ledger["purged"] ?? 0)
            let others = ["sequence", "offset", "delivered", "purged", "quarantined"]
            for (name, count) in ledger where !others.contains(name) {
                lane.lane.ledger.dropped[.init(rawValue: name)] = Int(count)
            }
        }
        if highest > 0 { contents.lanes[1] = lane }
        return contents
    }

    private func ledger() -> [String: Int64]? {
        guard let rows = try? Row.fetchAll(database, sql: "SELECT name, value FROM ledger") else { return nil }
        var ledger: [String: Int64] = [:]
        for row in rows {
            guard let name = row.text(0), let value = row.number(1) else { return nil }
            ledger[name] = value
        }
        return ledger
    }

    private func readEvents(
        upTo bound: Int64,
        into contents: inout StoreContents,
        _ lane: inout StoreContents.Lane
    ) -> Bool {
        let reader = HoleReader(
            database: database,
            forward: "SELECT * FROM event WHERE _rowid_ > ? AND _rowid_ < ? ORDER BY _rowid_",
            backward: "SELECT * FROM event WHERE _rowid_ > ? AND _rowid_ < ? ORDER BY _rowid_ DESC"
        )
        return reader.read(upTo: bound) { row in
            guard let sequence = row.number(0) else { return nil }
            if contents.events[sequence] == nil, let held = row.number(2), let kept = row.number(3),
                let user = row.text(5),
                let event = StoreContents.Event(priority: row.number(1), date: row.seconds(4), body: row.data(7))
            {
                contents.events[sequence] = event
                lane.deliveries[sequence] = .init(isHeld: held != 0, isKept: kept != 0, user: user)
            }
            return sequence
        }
    }

    private func readAttempts(into lane: inout StoreContents.Lane) {
        let reader = HoleReader(
            database: database,
            forward: "SELECT * FROM attempt WHERE _rowid_ > ? AND _rowid_ < ? ORDER BY _rowid_",
            backward: "SELECT * FROM attempt WHERE _rowid_ > ? AND _rowid_ < ? ORDER BY _rowid_ DESC"
        )
        _ = reader.read(upTo: lane.deliveries.keys.max() ?? 0) { row in
            guard let sequence = row.number(0) else { return nil }
            // The first schema has one more column, which tells leased from delayed.
            let shift = row.count > 5 ? 1 : 0
            let isLeased = shift == 1 && row.number(1) == 1
            lane.deliveries[sequence]?.noted = row.seconds(1 + shift)
            lane.deliveries[sequence]?.due = row.seconds(2 + shift).flatMap { $0 == 0 || isLeased ? nil : $0 }
            lane.deliveries[sequence]?.attempts = row.number(3 + shift).map { Int(min($0, 1_000_000)) }
            lane.deliveries[sequence]?.reason = row.text(4 + shift)
            return sequence
        }
    }
}
