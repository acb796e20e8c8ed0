@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// The outbox's tables, with what is remembered of them so that accepting an event reads nothing.
///
/// A value: a transaction works on a copy that takes effect with the commit. What other processes do is noticed by the
/// database's data version at the beginning of each transaction.
struct OutboxTable: Sendable {
    /// How much is kept.
    let limits: StoreLimits
    /// The destinations, in the order in which they were first named.
    var lanes: [StoredLane] = []
    /// The highest sequence ever given.
    var lastSequence: Int64 = 0
    /// What waits, as far as it is known.
    var extent = Extent()
    /// For each priority: no event of it has a lower sequence.
    var firstOfPriority: [Int64] = [0, 0, 0]
    /// At most so many pages are known to be free without asking; counted down by what is written.
    var knownFreePages = 0
    /// How many bytes the deliveries take that have no rows yet.
    var tailBytes = 0
    /// The highest sequence when rows of deliveries that are made were last deleted.
    var cleared: Int64 = 0
    /// The highest sequence at which the accounts were copied beside the file.
    var copied: Int64 = 0
    /// What is known of consent.
    var consent = ConsentMemory()
    /// For each destination: tokens of an earlier epoch belong to a file that isn't there any more, and so do its sequences.
    var firstEpochs: [Destination: Int64] = [:]
    private var dataVersion: Int64?

    /// How much waits.
    struct Extent: Sendable {
        /// How many events there are; with ``isExact`` false, at most that many.
        var count = 0
        /// How many bytes of bodies there are; with ``isExact`` false, at most that many.
        var bytes = 0
        /// No event is older than this.
        var oldestDate = Double.infinity
        /// Whether nothing was deleted since the events were counted, other than everything.
        var isExact = true

        /// Notes that this process has deleted events; how large they were would cost as much to find out as deleting them.
        mutating func remove(_ number: Int) {
            count -= number
            if number > 0 { isExact = false }
            if count == 0 { self = Extent() }
        }
    }

    /// What is known of consent without asking.
    struct ConsentMemory: Sendable {
        /// What digests of users are made with, so that they mean nothing outside this file: its own first, then those of
        /// files whose marks were carried over.
        var salts: [Data] = []
        /// Whether there may be users who deny consent.
        var mayBeDenied = false
        /// Whether something may wait for consent.
        var mayBeHeld = false
    }

    /// Creates the memory of tables that haven't been read.
    init(limits: StoreLimits) { self.limits = limits }

    /// How many events are accepted at most before the accounts are copied beside the file again.
    private static let mostBeforeCopy: Int64 = 256

    /// Whether the accounts should be copied beside the file, since a transaction has changed them.
    func isCopyDue(after before: OutboxTable) -> Bool {
        lastSequence - copied >= Self.mostBeforeCopy || lanes.count != before.lanes.count
            || zip(lanes, before.lanes).contains { now, before in
                now.through != before.through || now.head != before.head
                    || now.lane.ledger.delivered != before.lane.ledger.delivered
                    || now.lane.ledger.purged != before.lane.ledger.purged
                    || now.lane.ledger.dropped != before.lane.ledger.dropped
            }
    }

    /// How many deliveries were ever given up to make room.
    var overflow: Int { lanes.reduce(0) { $0 + ($1.lane.ledger.dropped[.overflow] ?? 0) } }

    // MARK: Other processes

    /// Notices what other processes have done; called inside each transaction, before anything else.
    mutating func refresh(_ database: Database) throws {
        let pragma = try HotStatement("PRAGMA data_version", database)
        let version = try pragma.step() ? pragma.int(0) : nil
        pragma.reset()
        if version == dataVersion { return }
        extent.isExact = dataVersion == nil
        dataVersion = version
        knownFreePages = 0
        firstOfPriority = [0, 0, 0]
        let row = try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT count(*), coalesce(sum(length(body)), 0), min(date), max(sequence)
                    FROM event WHERE sequence > ?
                    """
            ),
            arguments: [lastSequence]
        )
        if let row {
            extent.count += row[0]
            extent.bytes += row[1]
            extent.oldestDate = min(extent.oldestDate, row[2] ?? .infinity)
            lastSequence = max(lastSequence, row[3] ?? 0)
        }
        lanes = try StoredLane.all(database)
        lastSequence = max(lastSequence, lanes.map(\.through).max() ?? 0)
        try measureTail(database)
        try readConsent(database)
    }

    mutating func readConsent(_ database: Database) throws {
        let salts = try database.cachedStatement(sql: "SELECT value FROM meta WHERE name LIKE 'salt%' ORDER BY name")
        consent.salts = try Data.fetchAll(salts)
        consent.mayBeDenied =
            try Bool.fetchOne(database.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM denial)")) ?? true
        consent.mayBeHeld = try lanes.contains { lane in
            let statement = try database.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM owing WHERE destination = ? AND held = 1)"
            )
            return try Bool.fetchOne(statement, arguments: [lane.id]) ?? true
        }
    }

    /// Counts everything anew.
    mutating func recount(_ database: Database) throws {
        let row = try Row.fetchOne(
            database.cachedStatement(sql: "SELECT count(*), coalesce(sum(length(body)), 0), min(date) FROM event")
        )
        guard let row else { return }
        extent = Extent(count: row[0], bytes: row[1], oldestDate: row[2] ?? .infinity)
    }

    // MARK: Lanes

    /// The place of a destination's lane, which is made if need be.
    mutating func place(of destination: Destination, _ database: Database) throws -> Int {
        if let place = known(destination) { return place }
        // Events of an earlier version, which didn't write down whose they are, or only the account.
        let adopted = lanes.firstIndex { lane in
            lane.lane.destination.provider.isEmpty && ["", destination.account].contains(lane.lane.destination.account)
        }
        if let adopted {
            lanes[adopted].lane.destination = destination
            try lanes[adopted].rename(database)
            return adopted
        }
        lanes.append(try StoredLane(new: destination, through: lastSequence, database))
        return lanes.count - 1
    }

    /// The place of a destination's lane, if there is one.
    func known(_ destination: Destination) -> Int? { lanes.firstIndex { $0.lane.destination == destination } }

    /// Writes a lane down that has changed.
    mutating func write(_ place: Int, _ database: Database) throws {
        try writeTail(database)
        try lanes[place].write(database)
    }

    /// Counts deliveries that were given up.
    mutating func count(
        _ number: Int,
        as reason: Ledger.DropReason,
        at place: Int,
        _ database: Database
    ) throws {
        if number == 0 { return }
        lanes[place].lane.ledger.dropped[reason, default: 0] += number
        try database.cachedStatement(
            sql: """
                INSERT INTO dropped (destination, reason, count) VALUES (?, ?, ?)
                ON CONFLICT (destination, reason) DO UPDATE SET count = count + excluded.count
                """
        ).execute(arguments: [lanes[place].id, reason.rawValue, number])
    }

    // MARK: Room

    /// Notes that so many bytes were written, and asks how much room is left when it may be short.
    ///
    /// - Returns: Whether the reserve is still there: pages that only deliveries and deletions may use.
    mutating func hasRoom(after bytes: Int, _ database: Database) throws -> Bool {
        // A row lies on one page or begins a new one, and an index may do so too.
        knownFreePages -= 3 + bytes / 4_096
        if knownFreePages >= limits.pages.reserve { return true }
        let used = try Int.fetchOne(database.cachedStatement(sql: "PRAGMA page_count")) ?? 0
        let free = try Int.fetchOne(database.cachedStatement(sql: "PRAGMA freelist_count")) ?? 0
        knownFreePages = limits.pages.most - used + free
        if knownFreePages < limits.pages.reserve, hasHead {
            try clearHead(atMost: Self.headPortion, database)
            return try hasRoom(after: 0, database)
        }
        return knownFreePages >= limits.pages.reserve
    }

    /// Whether nothing waits any more, but the file is as large as when much did.
    func isLargeAndEmpty(_ database: Database) throws -> Bool {
        guard extent.count == 0 else { return false }
        return try Int.fetchOne(database.cachedStatement(sql: "PRAGMA freelist_count")) ?? 0 > 256
    }
}
