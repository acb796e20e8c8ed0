@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// Reads everything that a store of the current schema holds, around unreadable parts.
///
/// Reads by column index and not by name, so that a damaged name doesn't hide a column.
struct StoreReader {
    /// The database.
    let database: Database
    /// The ledgers copied beside the file.
    let copy: AccountsCopy?

    /// Reads the contents.
    func contents() -> StoreContents {
        var contents = StoreContents()
        readMeta(into: &contents)
        let lanesAreWhole = readLanes(into: &contents)
        readDropped(into: &contents)
        contents.lastSequence = contents.lanes.values.map(\.through).max() ?? 0
        let bound = max(contents.lastSequence, copy?.lastSequence ?? contents.lastSequence + 20_000)
        let eventsAreWhole = readEvents(upTo: bound, into: &contents)
        // Where destinations can't be read, their deliveries may be readable.
        var ids = Set(contents.lanes.keys).union(copy?.lanes.keys.map(\.self) ?? [])
        if !lanesAreWhole { ids.formUnion(1...8) }
        let known = Set(contents.lanes.keys)
        for id in ids { readDeliveries(of: id, upTo: bound, into: &contents) }
        readTail(of: ids, known: known, into: &contents)
        if !eventsAreWhole { for id in contents.lanes.keys { contents.lanes[id]?.hasTailHole = true } }
        readDenials(into: &contents)
        readValues(into: &contents)
        return contents
    }

    private func rows(_ sql: String, _ arguments: StatementArguments = [], into take: (Row) -> Void) -> Bool {
        do {
            let rows = try Row.fetchCursor(database.cachedStatement(sql: sql), arguments: arguments)
            while let row = try rows.next() { take(row) }
            return true
        } catch {
            return false
        }
    }

    private func readMeta(into contents: inout StoreContents) {
        var salts: [String: Data] = [:]
        func take(_ row: Row) {
            guard let name = row.text(0), let value = row.data(1) else { return }
            if name.hasPrefix(StoreMeta.salt), !value.isEmpty { salts[name] = value }
            if name == StoreMeta.erase { contents.isErasingOwed = true }
            if name == StoreMeta.moved { contents.isMoved = true }
        }
        if !rows("SELECT * FROM meta ORDER BY 1", into: take) {
            _ = rows("SELECT * FROM meta ORDER BY 1 DESC", into: take)
        }
        // Without the file's own salt, its marks mean nothing.
        if salts[StoreMeta.salt] != nil { contents.salts = salts.sorted { $0.key < $1.key }.map(\.value) }
    }

    private func readLanes(into contents: inout StoreContents) -> Bool {
        let reader = HoleReader(
            database: database,
            forward: "SELECT * FROM destination WHERE _rowid_ > ? AND _rowid_ < ? ORDER BY _rowid_",
            backward: "SELECT * FROM destination WHERE _rowid_ > ? AND _rowid_ < ? ORDER BY _rowid_ DESC"
        )
        return reader.read(upTo: 64) { row in
            guard let id = row.number(0) else { return nil }
            if contents.lanes[id] == nil, let lane = StoreContents.Lane(row) { contents.lanes[id] = lane }
            return id
        }
    }

    private func readDropped(into contents: inout StoreContents) {
        func take(_ row: Row) {
            guard let id = row.number(0), let reason = row.text(1), let count = row.number(2) else { return }
            contents.lanes[id]?.lane.ledger.dropped[.init(rawValue: reason)] = Int(count)
        }
        if !rows("SELECT * FROM dropped ORDER BY 1, 2", into: take) {
            _ = rows("SELECT * FROM dropped ORDER BY 1 DESC, 2 DESC", into: take)
        }
    }

    private func readEvents(upTo bound: Int64, into contents: inout StoreContents) -> Bool {
        let reader = HoleReader(
            database: database,
            forward: "SELECT * FROM event WHERE _rowid_ > ? AND _rowid_ < ? ORDER BY _rowid_",
            backward: "SELECT * FROM event WHERE _rowid_ > ? AND _rowid_ < ? ORDER BY _rowid_ DESC"
        )
        return reader.read(upTo: bound) { row in
            guard let sequence = row.number(0) else { return nil }
            if contents.events[sequence] == nil {
                contents.events[sequence] = StoreContents.Event(
                    priority: row.number(1),
                    date: row.seconds(2),
                    body: row.data(6),
                    tail: StoreContents.Tail(row)
                )
            }
            return sequence
        }
    }

    private func readDeliveries(of id: Int64, upTo bound: Int64, into contents: inout StoreContents) {
        var reader = HoleReader(
            database: database,
            forward: """
                SELECT * FROM delivery WHERE sequence > ? AND sequence < ? AND destination = ? AND held = ?
                ORDER BY sequence
                """,
            backward: """
                SELECT * FROM delivery WHERE sequence > ? AND sequence < ? AND destination = ? AND held = ?
                ORDER BY sequence DESC
                """
        )
        var deliveries: [Int64: StoreContents.Delivery] = [:]
        func take(_ row: Row) -> Int64? {
            guard let sequence = row.number(2) else { return nil }
            if deliveries[sequence] == nil { deliveries[sequence] = StoreContents.Delivery(row) }
            return sequence
        }
        reader.arguments = [id, false]
        let isFreeWhole = reader.read(upTo: bound, take)
        reader.arguments = [id, true]
        let isHeldWhole = reader.read(upTo: bound, take)
        guard
            contents.lanes[id] != nil || !deliveries.isEmpty || copy?.lanes[id] != nil || (id == 1 && !isFreeWhole)
        else { return }
        var lane = contents.lanes[id] ?? StoreContents.Lane(lane: OutboxLane(of: .unclaimed), through: 0)
        lane.deliveries = deliveries
        lane.hasHole = (!isHeldWhole, !isFreeWhole)
        contents.lanes[id] = lane
    }

    /// Adds the deliveries without rows: those of events that came after a destination was last written.
    private func readTail(of ids: Set<Int64>, known: Set<Int64>, into contents: inout StoreContents) {
        // If a destination's row can't be read, adds those of the events after all deliveries.
        let ends = contents.lanes.values.map { max($0.through, $0.deliveries.keys.max() ?? 0) }
        for id in ids {
            let through = (known.contains(id) ? contents.lanes[id]?.through : ends.max()) ?? 0
            for (sequence, event) in contents.events where sequence > through {
                guard let tail = event.tail, let isHeld = OutboxTable.isHeld(tail.owed, at: id) else { continue }
                let unknown = StoreContents.Lane(lane: OutboxLane(of: .unclaimed), through: 0)
                contents.lanes[id, default: unknown].deliveries[sequence] = StoreContents.Delivery(
                    isHeld: isHeld,
                    isKept: tail.isKept,
                    user: tail.user
                )
            }
        }
    }

    private func readDenials(into contents: inout StoreContents) {
        let take = { (row: Row) -> Void in if let mark = row.data(0) { contents.denials.insert(mark) } }
        if rows("SELECT * FROM denial ORDER BY 1", into: take) { return }
        _ = rows("SELECT * FROM denial ORDER BY 1 DESC", into: take)
        // Marks are distributed evenly: read from each first byte to the next.
        for byte in UInt8.min..<UInt8.max {
            let bounds: StatementArguments = [Data([byte]), Data([byte + 1])]
            _ = rows("SELECT * FROM denial WHERE user >= ? AND user < ? ORDER BY 1", bounds, into: take)
        }
    }

    private func readValues(into contents: inout StoreContents) {
        let reader = HoleReader(
            database: database,
            forward: "SELECT * FROM state WHERE _rowid_ > ? AND _rowid_ < ? ORDER BY _rowid_",
            backward: "SELECT * FROM state WHERE _rowid_ > ? AND _rowid_ < ? ORDER BY _rowid_ DESC"
        )
        _ = reader.read(upTo: 100_000) { row in
            guard let written = row.number(0) else { return nil }
            if let key = row.text(1), let value = row.data(2) {
                contents.values[written] = StoreContents.Value(key: key, value: value)
            }
            return written
        }
    }
}
