internal import GRDB

/// Leases: which events somebody is delivering, as ranges of numbers that don't overlap.
///
/// A range instead of a row for each event, because batches are mostly of events that follow each other. What is settled
/// is cut out of its range. A lease that is over by its time keeps nobody from delivering, but its events aren't dropped
/// to make room: whoever leased them may only be slow.
extension OutboxTable {
    /// The ranges that are leased, for somebody who looks at ascending numbers.
    struct Leases {
        private var ranges: ArraySlice<ClosedRange<Int64>>

        /// Creates them from ascending ranges.
        init(_ ranges: [ClosedRange<Int64>]) { self.ranges = ranges[...] }

        /// Whether a number lies in one of the ranges; it is higher than those that were asked for before.
        mutating func contains(_ sequence: Int64) -> Bool {
            while let range = ranges.first, range.upperBound < sequence { ranges.removeFirst() }
            return ranges.first.map { $0.lowerBound <= sequence } ?? false
        }
    }

    /// The leases behind a number that aren't over.
    func leases(after sequence: Int64, _ database: Database) throws -> Leases {
        let rows = try HotStatement(
            """
            SELECT first, last FROM lease
            WHERE last > ?1 AND first <= last AND noted - ?2 <= ?3 AND ?3 < due AND due - noted <= ?4
            ORDER BY first
            """,
            database
        )
        try rows.bind(sequence, at: 1)
        try rows.bind(Self.clockTolerance, at: 2)
        try rows.bind(now, at: 3)
        try rows.bind(Self.longestWait, at: 4)
        var ranges: [ClosedRange<Int64>] = []
        while try rows.step() { ranges.append(rows.int(0)...rows.int(1)) }
        rows.reset()
        return Leases(ranges)
    }

    /// Whether somebody else has leased an event: another store, here or in another process.
    func isLeasedElsewhere(_ event: Leased, _ database: Database) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: """
                SELECT owner FROM lease
                WHERE first = (SELECT max(first) FROM lease WHERE first <= ?1) AND last >= ?1
                """
        )
        return try Int64.fetchOne(statement, arguments: [event.sequence]).map { $0 != owner } ?? false
    }

    /// Leases events; their waits have served their purpose.
    ///
    /// - Parameters:
    ///   - sequences: Their numbers, ascending; no lease of theirs is still good.
    ///   - until: When the lease is over.
    ///   - database: Where.
    /// - Throws: What the database says.
    func addLeases(of sequences: [Int64], until: Double, _ database: Database) throws {
        try endLeases(of: sequences, database)
        let insert = try HotStatement(
            "INSERT INTO lease (first, last, owner, noted, due) VALUES (?, ?, ?, ?, ?)",
            database
        )
        let wait = try HotStatement("UPDATE attempt SET due = 0 WHERE sequence BETWEEN ? AND ?", database)
        for range in sequences.consecutive(by: \.self) {
            let (first, last) = (sequences[range.lowerBound], sequences[range.upperBound - 1])
            try insert.bind(first, at: 1)
            try insert.bind(last, at: 2)
            try insert.bind(owner, at: 3)
            try insert.bind(now, at: 4)
            try insert.bind(until, at: 5)
            try insert.run()
            try wait.run(first, last)
        }
    }

    /// Ends the leases of events.
    ///
    /// - Parameters:
    ///   - sequences: Their numbers, in any order.
    ///   - database: Where.
    /// - Throws: What the database says.
    func endLeases(of sequences: [Int64], _ database: Database) throws {
        if sequences.isEmpty { return }
        let sequences = sequences.sorted()
        // What of a range lies behind them goes on as one of its own, what lies before them is shortened to that, and
        // the rest is over.
        let behind = try HotStatement(
            """
            INSERT OR REPLACE INTO lease (first, last, owner, noted, due)
            SELECT ?1 + 1, last, owner, noted, due FROM lease WHERE first <= ?1 AND last > ?1
            """,
            database
        )
        let before = try HotStatement(
            "UPDATE lease SET last = ?1 - 1 WHERE first < ?1 AND last >= ?1",
            database
        )
        let within = try HotStatement("DELETE FROM lease WHERE first BETWEEN ?1 AND ?2", database)
        for range in sequences.consecutive(by: \.self) {
            let (first, last) = (sequences[range.lowerBound], sequences[range.upperBound - 1])
            try behind.run(last)
            try before.run(first)
            try within.run(first, last)
        }
    }

    /// Takes back the leases of processes that are gone; called when nobody else has the store open.
    static func takeBackLeases(_ database: Database) throws { try database.execute(sql: "DELETE FROM lease") }
}
