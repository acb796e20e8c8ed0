@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    /// Records the outcomes of events.
    ///
    /// - Returns: Whether the lease is still current.
    mutating func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date,
        _ database: Database
    ) throws -> Bool {
        if let first = firstEpochs[token.destination], token.epoch < first { return false }
        let place = try place(of: token.destination, database)
        let isHolder = lanes[place].lane.holds(token)
        evictions.change(of: lanes[place].id)
        if isHolder, try advanceHead(settlements, place, database) { return lanes[place].lane.isCurrent(token) }
        try clearHead(database)
        try writeTail(database)
        var delivered: [Int64] = []
        var dropped: [Ledger.DropReason: [Int64]] = [:]
        for settlement in settlements {
            switch settlement.outcome {
            case .delivered: delivered.append(settlement.sequence)
            case .dropped(let reason, _): dropped[reason, default: []].append(settlement.sequence)
            case .retry(let date, let attempts, let reason):
                if isHolder { try delay(settlement.sequence, place, now, date, attempts, reason, database) }
            }
        }
        var count = 0
        if isHolder {
            count = try remove(delivered.sorted(), place, database)
        } else {
            // Removed one by one: an event that the current holder is sending ends its round; one long gone doesn't.
            for sequence in delivered.sorted() where try remove([sequence], place, database) > 0 {
                count += 1
                lanes[place].lane.disturb(sequence)
            }
        }
        lanes[place].lane.ledger.delivered += count
        if count > 0 { lanes[place].lane.succeed() }
        if isHolder {
            for (reason, sequences) in dropped { try drop(sequences, as: reason, place, database) }
        }
        try write(place, database)
        return lanes[place].lane.isCurrent(token)
    }

    /// Drops events.
    mutating func drop(
        _ sequences: [Int64],
        as reason: Ledger.DropReason,
        _ place: Int,
        _ database: Database
    ) throws {
        try clearHead(database)
        try writeTail(database)
        try count(try remove(sequences.sorted(), place, database), as: reason, at: place, database)
        try write(place, database)
    }

    private func delay(
        _ sequence: Int64,
        _ place: Int,
        _ now: Date,
        _ date: Date,
        _ attempts: Int,
        _ reason: String,
        _ database: Database
    ) throws {
        try database.cachedStatement(
            sql: """
                UPDATE delivery SET noted = ?, due = ?, attempts = ?, reason = coalesce(?, reason)
                WHERE destination = ? AND held = 0 AND sequence = ?
                """
        ).execute(
            arguments: [
                now.timeIntervalSince1970, date.timeIntervalSince1970, attempts, reason.isEmpty ? nil : reason,
                lanes[place].id, sequence,
            ]
        )
    }

    /// Deletes deliveries, in one statement per run of consecutive sequences, and the bodies that no other destination
    /// is owed.
    ///
    /// - Parameters:
    ///   - sequences: Their sequences, ascending.
    ///   - place: The lane.
    ///   - database: The database.
    /// - Returns: How many of them still existed.
    /// - Throws: The database's error.
    private mutating func remove(_ sequences: [Int64], _ place: Int, _ database: Database) throws -> Int {
        let delete = try HotStatement(
            "DELETE FROM delivery WHERE destination = ? AND held = 0 AND sequence BETWEEN ? AND ?",
            database
        )
        var removed = 0
        for range in sequences.consecutive {
            let (first, last) = (sequences[range.lowerBound], sequences[range.upperBound - 1])
            try delete.run(lanes[place].id, first, last)
            removed += delete.changes
        }
        if removed > 0 { try removeBodies(sequences, database) }
        return removed
    }

    /// Deletes the given events, except those that are still owed to a destination.
    mutating func removeBodies(_ sequences: [Int64], _ database: Database) throws {
        // A single destination has no others to check.
        let delete = try HotStatement(
            lanes.count == 1
                ? "DELETE FROM event WHERE sequence BETWEEN ? AND ?"
                : """
                DELETE FROM event WHERE sequence BETWEEN ? AND ? AND NOT EXISTS (
                    SELECT 1 FROM delivery WHERE destination IN (SELECT id FROM destination)
                        AND held IN (0, 1) AND delivery.sequence = event.sequence
                )
                """,
            database
        )
        for range in sequences.consecutive {
            try delete.run(sequences[range.lowerBound], sequences[range.upperBound - 1])
            extent.remove(delete.changes)
        }
    }
}

extension [Int64] {
    /// The index ranges of consecutive numbers in an ascending list.
    var consecutive: [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = 0
        for index in indices.dropFirst() where self[index] > self[index - 1] + 1 {
            ranges.append(start..<index)
            start = index
        }
        return isEmpty ? ranges : ranges + [start..<count]
    }
}
