@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// Makes room for new events in a full store by evicting the oldest of the least important ones.
extension OutboxTable {
    /// The maximum number of evicted events whose rows still exist.
    private static let mostEvicted = 256
    /// How many events are evicted at once when the pages run out.
    private static let portion = 256

    /// Evicts events while there are too many.
    mutating func makeRoom(after bytes: Int, now: Date, _ database: Database) throws {
        while isOverLimits, hasHead { try clearHead(atMost: Self.headPortion, database) }
        if isOverLimits, !extent.isExact { try recount(database) }
        while isOverLimits, try evict(now, database) {}
        if mustDropEvicted { try dropEvicted(database) }
        // Half-empty pages, or cached values, may use up the file before the bodies reach their limit.
        while try !hasRoom(after: bytes, database) {
            var left = min(Self.portion, max(1, extent.count / 16))
            while left > 0, try evict(now, database) { left -= 1 }
            if evictions.sequences.isEmpty { throw StoreFault.full }
            try dropEvicted(database)
        }
    }

    private var isOverLimits: Bool { extent.count > limits.maximumCount || extent.bytes > limits.maximumBytes }

    private var mustDropEvicted: Bool {
        evictions.areUrgent
            || evictions.sequences.count > min(Self.mostEvicted, limits.maximumCount / limits.evictedShare)
            || evictions.bytes > limits.maximumBytes / limits.evictedShare
    }

    /// Evicts the oldest of the least important events.
    ///
    /// Leased events are spared: they would be counted as lost although the vendor may have them.
    ///
    /// - Returns: Whether there was one.
    private mutating func evict(_ now: Date, _ database: Database) throws -> Bool {
        evictions.check { id, lease in
            lanes.contains { $0.id == id && $0.lane.isHeld(at: now) && $0.leaseOfSpared == lease }
        }
        let events = try HotStatement(
            "SELECT sequence, length(body) FROM event WHERE sequence >= ? AND priority = ? ORDER BY sequence",
            database
        )
        for priority in Priority.allCases.map(\.rawValue) {
            try events.bind(evictions.start(of: priority), at: 1)
            try events.bind(priority, at: 2)
            defer { events.reset() }
            while try events.step() {
                let sequence = events.int(0)
                if evictions.sequences.contains(sequence) { continue }
                let owing = try lanes.indices.compactMap { try delivery(of: sequence, at: $0, database) }
                let given = owing.filter { !$0.isHeld && sequence <= lanes[$0.place].lane.out }.map(\.place)
                if let leasing = given.first(where: { lanes[$0].lane.isHeld(at: now) }) {
                    let lane = lanes[leasing]
                    evictions.spare(sequence, of: priority, leasedBy: lane.id, lane.leaseOfSpared)
                    continue
                }
                let size = Int(events.int(1))
                evictions.add(
                    sequence,
                    of: priority,
                    bytes: size,
                    owedTo: owing.count,
                    isUrgent: !given.isEmpty
                )
                extent.count -= 1
                extent.bytes -= size
                return true
            }
            evictions.pass(lastSequence + 1, of: priority)
        }
        return false
    }

    /// Returns a lane to which an event is owed, and whether it is held there; `nil` if there is none.
    private func delivery(
        of sequence: Int64,
        at place: Int,
        _ database: Database
    ) throws -> (place: Int, isHeld: Bool)? {
        let rows = try HotStatement(
            "SELECT held FROM owing WHERE destination = ? AND held IN (0, 1) AND sequence = ?",
            database
        )
        try rows.bind(lanes[place].id, at: 1)
        try rows.bind(sequence, at: 2)
        defer { rows.reset() }
        return try rows.step() ? (place, rows.int(0) != 0) : nil
    }

    /// Deletes the rows of evicted events, and counts them as dropped.
    ///
    /// Called before anything else is done with a delivery.
    mutating func dropEvicted(_ database: Database) throws {
        if evictions.sequences.isEmpty { return }
        try writeTail(database)
        let victims = evictions.areStale ? try withoutLeased(evictions.take(), database) : evictions.take()
        let forget = try HotStatement("DELETE FROM event WHERE sequence = ?", database)
        for sequence in victims { try forget.run(sequence) }
        let drop = try HotStatement(
            "DELETE FROM delivery WHERE destination = ? AND held = ? AND sequence = ?",
            database
        )
        for place in lanes.indices {
            var dropped = 0
            for sequence in victims {
                if sequence > lanes[place].head { try drop.run(lanes[place].id, 0, sequence) }
                if sequence > lanes[place].head, drop.changes > 0 {
                    // A holder whose lease has expired may still be sending it.
                    lanes[place].lane.disturb(sequence)
                    dropped += 1
                } else {
                    try drop.run(lanes[place].id, 1, sequence)
                    dropped += drop.changes
                }
            }
            guard dropped > 0 else { continue }
            lanes[place].front = StoredLane.Front()
            try count(dropped, as: .overflow, at: place, database)
            try write(place, database)
        }
    }

    /// Returns evicted events without those that another process has leased since, which wait again.
    private mutating func withoutLeased(_ victims: [Int64], _ database: Database) throws -> [Int64] {
        let size = try HotStatement("SELECT length(body) FROM event WHERE sequence = ?", database)
        return try victims.filter { sequence in
            let isLeased = try lanes.indices.contains { place in
                guard lanes[place].lane.owner != 0, sequence <= lanes[place].lane.out else { return false }
                return try delivery(of: sequence, at: place, database)?.isHeld == false
            }
            guard isLeased else { return true }
            try size.bind(sequence, at: 1)
            defer { size.reset() }
            extent.count += 1
            extent.bytes += try size.step() ? Int(size.int(0)) : 0
            extent.isExact = false
            return false
        }
    }

    /// Deletes the rows of evicted events if a lane's next deliveries may be among them.
    mutating func dropEvicted(before place: Int, _ database: Database) throws {
        guard let last = evictions.last else { return }
        let rows = try HotStatement(
            "SELECT 1 FROM delivery WHERE destination = ? AND held = 0 AND sequence > ? AND sequence <= ? LIMIT 1",
            database
        )
        try rows.bind(lanes[place].id, at: 1)
        try rows.bind(lanes[place].head, at: 2)
        try rows.bind(last, at: 3)
        let areAmongThem = try rows.step()
        rows.reset()
        if areAmongThem { try dropEvicted(database) }
    }
}

extension StoredLane {
    /// What keeps the leased events of this lane from being evicted.
    fileprivate var leaseOfSpared: Evictions.Lease { Evictions.Lease(epoch: lane.epoch, out: lane.out) }
}
