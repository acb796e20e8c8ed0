@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    /// Takes over the contents of another file; called after ``refresh(_:)``, inside a transaction.
    ///
    /// - Parameters:
    ///   - contents: The contents, with balanced ledgers.
    ///   - isContinued: Whether this file replaces the other and is still empty: sequences then stay as they are;
    ///     otherwise they continue after this file's own.
    ///   - database: This file.
    /// - Throws: The database's error.
    mutating func take(_ contents: StoreContents, isContinued: Bool, _ database: Database) throws {
        try clearHead(database)
        try writeTail(database)
        let base = isContinued ? 0 : lastSequence
        let order = contents.events.keys.sorted()
        let numbers = isContinued ? order : order.indices.map { base + Int64($0) + 1 }
        let renumbered = Dictionary(zip(order, numbers), uniquingKeysWith: { $1 })
        try takeSalts(contents, isContinued, database)
        try insertEvents(
            zip(order, numbers).compactMap { old, new in contents.events[old].map { (new, $0) } },
            database
        )
        lastSequence = max(base + Int64(order.count), isContinued ? contents.lastSequence : 0, numbers.last ?? 0)
        for (_, lane) in contents.lanes.sorted(by: { $0.key < $1.key }) {
            let place = try place(of: lane.lane.destination, database)
            let tried =
                isContinued
                ? lane.lane.trouble.tried : renumbered[order.last { $0 <= lane.lane.trouble.tried } ?? 0] ?? 0
            try merge(lane.lane, tried: tried, isContinued: isContinued, at: place, database)
            for (old, delivery) in lane.deliveries {
                guard let sequence = renumbered[old] else { continue }
                try insert(delivery, sequence, lanes[place].id, database)
            }
        }
        try endTail(database)
        for place in lanes.indices { try write(place, database) }
        for (_, value) in contents.values.sorted(by: { $0.key < $1.key }) {
            try StateTable.set(Array(value.value), for: value.key, database)
        }
        if contents.isErasingOwed { try Erasing.owe(database) }
        try recount(database)
        for place in lanes.indices { lanes[place].oldestDate = extent.oldestDate }
        try readConsent(database)
        evictions.searchAnew()
        try removeDenied(database)
    }

    /// Removes what waits for users who deny consent: either of two stores may have the mark.
    private mutating func removeDenied(_ database: Database) throws {
        guard consent.mayBeDenied else { return }
        let users = try Row.fetchAll(
            database,
            sql: "SELECT DISTINCT CAST(user AS BLOB) FROM delivery WHERE kept = 0"
        ).compactMap { $0.text(0) }
        let denied = try users.filter { try isDenied($0, database) }
        if denied.isEmpty { return }
        _ = try deny(denied, database)
        try Erasing.owe(database)
    }

    /// Ends leases from before an epoch, which are those of former files: their sequences belong to other events here.
    ///
    /// The leases of this file begin at that epoch, which tells the two apart.
    mutating func endLeases(before epochs: [Destination: Int64], _ database: Database) throws {
        for (destination, epoch) in epochs {
            let place = try place(of: destination, database)
            if lanes[place].lane.epoch < epoch {
                lanes[place].lane.epoch = epoch
                try write(place, database)
            }
            firstEpochs[destination] = max(firstEpochs[destination] ?? 0, epoch)
        }
    }

    private mutating func merge(
        _ other: OutboxLane,
        tried: Int64,
        isContinued: Bool,
        at place: Int,
        _ database: Database
    ) throws {
        // Leases from either file are no longer valid.
        lanes[place].lane.epoch = max(lanes[place].lane.epoch, other.epoch) + 1
        lanes[place].lane.revision = max(lanes[place].lane.revision, other.revision)
        if !isContinued { firstEpochs[other.destination] = lanes[place].lane.epoch }
        if lanes[place].lane.trouble.reason == nil, let reason = other.trouble.reason {
            lanes[place].lane.trouble.reason = reason
            lanes[place].lane.trouble.tried = tried
        }
        if other.trouble.pause.due > lanes[place].lane.trouble.pause.due {
            lanes[place].lane.trouble.pause = other.trouble.pause
        }
        lanes[place].lane.ledger.accepted += other.ledger.accepted
        lanes[place].lane.ledger.delivered += other.ledger.delivered
        lanes[place].lane.ledger.purged += other.ledger.purged
        for (reason, number) in other.ledger.dropped { try count(number, as: reason, at: place, database) }
    }

    private func insertEvents(_ events: [(Int64, StoreContents.Event)], _ database: Database) throws {
        let insert = try database.cachedStatement(
            sql: "INSERT INTO event (sequence, priority, date, body) VALUES (?, ?, ?, ?)"
        )
        for (sequence, event) in events {
            try insert.execute(arguments: [sequence, event.priority, event.date, event.body])
        }
    }

    private func insert(
        _ delivery: StoreContents.Delivery,
        _ sequence: Int64,
        _ destination: Int64,
        _ database: Database
    ) throws {
        // The user as bytes: as a string it would end at a zero byte.
        try database.cachedStatement(
            sql: """
                INSERT INTO delivery (destination, held, sequence, kept, user, noted, due, attempts, reason)
                VALUES (?, ?, ?, ?, CAST(? AS TEXT), ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
                destination, delivery.isHeld, sequence, delivery.isKept, Data(delivery.user.utf8), delivery.noted,
                delivery.due, delivery.attempts, delivery.reason,
            ]
        )
    }

    /// Takes over marks of denial, with their salts.
    private func takeSalts(_ contents: StoreContents, _ isContinued: Bool, _ database: Database) throws {
        guard let own = contents.salts.first else { return }
        let set = try database.cachedStatement(sql: "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)")
        if isContinued { try set.execute(arguments: [StoreMeta.salt, own]) }
        for salt in isContinued ? contents.salts.dropFirst() : contents.salts[...] where !consent.salts.contains(salt) {
            let name = StoreMeta.salt + "-" + salt.map { String($0, radix: 16) }.joined(separator: ".")
            try set.execute(arguments: [name, salt])
        }
        let mark = try database.cachedStatement(sql: "INSERT OR IGNORE INTO denial (user) VALUES (?)")
        for denial in contents.denials { try mark.execute(arguments: [denial]) }
    }

    /// Removes everything except the destinations themselves: another file has taken it over.
    static func clear(_ database: Database) throws {
        try database.execute(
            sql: """
                DELETE FROM delivery;
                DELETE FROM event;
                DELETE FROM dropped;
                DELETE FROM state;
                DELETE FROM denial;
                UPDATE destination SET owner = 0, out = 0, paused = 0, resumes = 0, reason = NULL, tried = 0,
                    accepted = 0, delivered = 0, purged = 0, head = 0, epoch = epoch + 1;
                """
        )
    }
}
