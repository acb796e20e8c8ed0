@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    /// Whether a user denies consent.
    func isDenied(_ user: String, _ database: Database) throws -> Bool {
        guard consent.mayBeDenied else { return false }
        let select = try HotStatement("SELECT 1 FROM denial WHERE user = ?", database)
        return try digests(of: user).contains { digest in
            try select.bind(digest, at: 1)
            defer { select.reset() }
            return try select.step()
        }
    }

    /// Returns the digests of a user by which denials are marked, with the file's own first.
    private func digests(of user: String) -> [[UInt8]] {
        let salts = consent.salts.isEmpty ? [Data()] : consent.salts
        return salts.map { salt in
            let text = salt.map { String($0, radix: 16) }.joined(separator: ".") + "/" + user
            return Array(Digest.sha256(Array(text.utf8)).prefix(16))
        }
    }

    /// Ends a denial and releases held deliveries.
    ///
    /// - Returns: How many deliveries were released.
    mutating func grant(_ user: String, _ database: Database) throws -> Int {
        if consent.mayBeDenied {
            let delete = try HotStatement("DELETE FROM denial WHERE user = ?", database)
            for digest in digests(of: user) {
                try delete.bind(digest, at: 1)
                try delete.run()
            }
        }
        guard consent.mayBeHeld else { return 0 }
        try clearHead(database)
        try writeTail(database)
        let release = try HotStatement(
            "UPDATE delivery SET held = 0 WHERE destination = ? AND held = 1 AND user = ? RETURNING sequence",
            database
        )
        var released = 0
        for place in lanes.indices {
            try release.bind(lanes[place].id, at: 1)
            try release.bind(user, at: 2)
            var first = Int64.max
            while try release.step() {
                released += 1
                first = min(first, release.int(0))
            }
            release.reset()
            if first < .max { try disturb(place, first, database) }
        }
        return released
    }

    /// Removes users' waiting events, and leaves a mark of each denial.
    ///
    /// Reads the deliveries once for all of them.
    ///
    /// - Returns: How many deliveries were removed.
    mutating func deny(_ users: [String], _ database: Database) throws -> Int {
        let mark = try HotStatement("INSERT OR IGNORE INTO denial (user) VALUES (?)", database)
        let leave = try HotStatement("INSERT OR IGNORE INTO leaving (user) VALUES (?)", database)
        for user in users {
            try mark.bind(digests(of: user)[0], at: 1)
            try mark.run()
            try leave.bind(user, at: 1)
            try leave.run()
        }
        consent.mayBeDenied = true
        try clearHead(database)
        try writeTail(database)
        let rows = try HotStatement(
            """
            DELETE FROM delivery WHERE kept = 0 AND user IN (SELECT user FROM leaving)
            RETURNING destination, held, sequence
            """,
            database
        )
        var removed = 0
        var sequences: Set<Int64> = []
        var counts: [Int64: (count: Int, first: Int64)] = [:]
        while try rows.step() {
            let sequence = rows.int(2)
            removed += 1
            sequences.insert(sequence)
            var lane = counts[rows.int(0)] ?? (0, .max)
            lane.count += 1
            if rows.int(1) == 0 { lane.first = min(lane.first, sequence) }
            counts[rows.int(0)] = lane
        }
        rows.reset()
        try HotStatement("DELETE FROM leaving", database).run()
        for place in lanes.indices {
            guard let lane = counts[lanes[place].id] else { continue }
            lanes[place].lane.ledger.purged += lane.count
            lanes[place].lane.disturb(lane.first)
            try write(place, database)
        }
        try removeBodies(sequences.sorted(), database)
        return removed
    }

    /// Notes that something happened to an event that may have been handed out.
    mutating func disturb(_ place: Int, _ sequence: Int64, _ database: Database) throws {
        let before = lanes[place].lane.revision
        lanes[place].lane.disturb(sequence)
        if lanes[place].lane.revision != before { try write(place, database) }
    }
}
