@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    // MARK: A full store

    /// Drops the oldest of the least important events while there are too many.
    mutating func makeRoom(after bytes: Int, now: Date, _ database: Database) throws {
        while isOverLimits, hasHead { try clearHead(atMost: Self.headPortion, database) }
        if isOverLimits, !extent.isExact { try recount(database) }
        if isOverLimits { try dropLeastImportant(now, database) { $0.isOverLimits } }
        // Half-empty pages, or cached values, may use up the file before the bodies reach their limit.
        while try !hasRoom(after: bytes, database) {
            let before = extent.count
            var left = 64
            try dropLeastImportant(now, database) { _ in
                left -= 1
                return left >= 0
            }
            if extent.count == before { throw StoreFault.full }
        }
    }

    private var isOverLimits: Bool { extent.count > limits.maximumCount || extent.bytes > limits.maximumBytes }

    /// Drops events while a condition holds, the least important first and the oldest of those first.
    ///
    /// Leased events are spared: they would be counted as lost although the vendor may have them.
    private mutating func dropLeastImportant(
        _ now: Date,
        _ database: Database,
        while condition: (inout Self) -> Bool
    ) throws {
        try clearHead(database)
        try writeTail(database)
        let select = try database.cachedStatement(
            sql: "SELECT sequence, length(body) FROM event WHERE sequence >= ? AND priority = ? ORDER BY sequence"
        )
        let victims = try victims(select, now, database, while: condition)
        if victims.isEmpty { return }
        let forget = try HotStatement("DELETE FROM event WHERE sequence = ?", database)
        for sequence in victims { try forget.run(sequence) }
        let drop = try HotStatement(
            "DELETE FROM delivery WHERE destination = ? AND held = ? AND sequence = ?",
            database
        )
        for place in lanes.indices {
            var dropped = 0
            for sequence in victims {
                try drop.run(lanes[place].id, 0, sequence)
                if drop.changes > 0 {
                    // A holder whose lease has expired may still be sending it.
                    lanes[place].lane.disturb(sequence)
                    dropped += 1
                } else {
                    try drop.run(lanes[place].id, 1, sequence)
                    dropped += drop.changes
                }
            }
            guard dropped > 0 else { continue }
            try count(dropped, as: .overflow, at: place, database)
            try write(place, database)
        }
    }

    private mutating func victims(
        _ select: Statement,
        _ now: Date,
        _ database: Database,
        while condition: (inout Self) -> Bool
    ) throws -> [Int64] {
        let given = lanes.filter { $0.lane.isHeld(at: now) }.map(\.lane.out).max() ?? 0
        var victims: [Int64] = []
        for priority in extent.firstOfPriority.indices {
            var first: Int64?
            let rows = try Row.fetchCursor(select, arguments: [extent.firstOfPriority[priority], priority])
            var isDone = false
            while let row = try rows.next() {
                let sequence: Int64 = row[0]
                if sequence <= given, try isGivenOut(sequence, now, database) {
                    first = first ?? sequence
                    continue
                }
                guard condition(&self) else {
                    first = first ?? sequence
                    isDone = true
                    break
                }
                extent.count -= 1
                extent.bytes -= row[1]
                victims.append(sequence)
            }
            extent.firstOfPriority[priority] = first ?? lastSequence + 1
            if isDone { break }
        }
        return victims
    }

    private func isGivenOut(_ sequence: Int64, _ now: Date, _ database: Database) throws -> Bool {
        try lanes.contains { lane in
            guard lane.lane.hasGivenOut(sequence, at: now) else { return false }
            let statement = try database.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM delivery WHERE destination = ? AND held = 0 AND sequence = ?)"
            )
            return try Bool.fetchOne(statement, arguments: [lane.id, sequence]) ?? false
        }
    }

    // MARK: On request

    /// Drops unleased deliveries older than a date.
    ///
    /// - Returns: How many were dropped.
    mutating func expire(
        before date: Date,
        owedTo destination: Destination,
        now: Date,
        _ database: Database
    ) throws -> Int {
        if date.timeIntervalSince1970 <= extent.oldestDate { return 0 }
        let place = try place(of: destination, database)
        try clearHead(database)
        try writeTail(database)
        let lane = lanes[place].lane
        let rows = try HotStatement(
            """
            DELETE FROM delivery WHERE destination = ? AND (held = 1 OR sequence > ?)
                AND sequence IN (SELECT sequence FROM event WHERE date < ?)
            RETURNING held, sequence
            """,
            database
        )
        try rows.bind(lanes[place].id, at: 1)
        try rows.bind(lane.isHeld(at: now) ? lane.out : 0, at: 2)
        try rows.bind(date.timeIntervalSince1970, at: 3)
        var expired = 0
        var first = Int64.max
        while try rows.step() {
            expired += 1
            if rows.int(0) == 0 { first = min(first, rows.int(1)) }
        }
        rows.reset()
        // A holder whose lease has expired may still be sending them.
        lanes[place].lane.disturb(first)
        try count(expired, as: .expired, at: place, database)
        try forgetOwedToNobody(database)
        if expired > 0 { try write(place, database) }
        return expired
    }

    /// Removes everything that is owed to a destination.
    ///
    /// - Returns: How many deliveries were removed.
    mutating func remove(
        owedTo destination: Destination,
        as account: RemovalAccount,
        _ database: Database
    ) throws -> Int {
        let place = try place(of: destination, database)
        try clearHead(database)
        try writeTail(database)
        let given = try database.cachedStatement(
            sql: "SELECT min(sequence) FROM delivery WHERE destination = ? AND held = 0 AND (kept = 0 OR kept = ?)"
        )
        let isWhole = account != .purged
        let first = try Int64.fetchOne(given, arguments: [lanes[place].id, isWhole])
        try database.cachedStatement(sql: "DELETE FROM delivery WHERE destination = ? AND (kept = 0 OR kept = ?)")
            .execute(arguments: [lanes[place].id, isWhole])
        let removed = database.changesCount
        switch account {
        case .purged: lanes[place].lane.ledger.purged += removed
        case .dropped(let reason): try count(removed, as: reason, at: place, database)
        }
        if let first { lanes[place].lane.disturb(first) }
        try write(place, database)
        try forgetOwedToNobody(database)
        return removed
    }

    private mutating func forgetOwedToNobody(_ database: Database) throws {
        try database.cachedStatement(
            sql: """
                DELETE FROM event WHERE NOT EXISTS (
                    SELECT 1 FROM delivery WHERE destination IN (SELECT id FROM destination)
                        AND held IN (0, 1) AND delivery.sequence = event.sequence
                )
                """
        ).execute()
        try recount(database)
    }
}
