@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// The outbox's tables, with enough of them in memory that accepting an event reads nothing.
///
/// A value: a transaction works on a copy that takes effect with the commit. Changes by other processes are detected by
/// the database's data version at the beginning of each transaction.
struct OutboxTable: Sendable {
    /// The limits of the store.
    let limits: StoreLimits
    /// The destinations, in the order in which they were first named.
    var lanes: [StoredLane] = []
    /// The highest sequence ever assigned.
    var lastSequence: Int64 = 0
    /// What is known about waiting events.
    var extent = Extent()
    /// What decides when the next upkeep is due.
    var upkeep = Upkeep()
    /// What is known about consent.
    var consent = ConsentMemory()
    /// The events that make room for others, and still have rows.
    var evictions = Evictions()
    /// For each destination the first valid epoch: older tokens, and their sequences, belong to a file that is gone.
    var firstEpochs: [Destination: Int64] = [:]
    private var dataVersion: Int64?

    /// The number and size of waiting events.
    struct Extent: Sendable {
        /// The number of events; an upper bound unless ``isExact``.
        var count = 0
        /// The size of their bodies in bytes; an upper bound unless ``isExact``.
        var bytes = 0
        /// A lower bound of the events' dates.
        var oldestDate = Double.infinity
        /// Whether, since the events were counted, nothing was deleted except everything at once.
        var isExact = true

        /// Notes that this process has deleted events; finding out their size would cost as much as deleting them.
        mutating func remove(_ number: Int) {
            count -= number
            if number > 0 { isExact = false }
            if count == 0 { self = Extent() }
        }
    }

    /// What decides when work is due that isn't done with each event.
    struct Upkeep: Sendable {
        /// A number of pages known to be free without asking; counted down by what is written.
        var knownFreePages = 0
        /// The size in bytes of deliveries without rows.
        var tailBytes = 0
        /// The highest sequence when rows of completed deliveries were last deleted.
        var cleared: Int64 = 0
        /// The highest sequence when the ledgers were last copied beside the file.
        var copied: Int64 = 0
    }

    /// What is known about consent without reading the file.
    struct ConsentMemory: Sendable {
        /// The salts of users' digests, which make them meaningless outside this file: its own first, then those of
        /// files whose marks were taken over.
        var salts: [Data] = []
        /// Whether any user may deny consent.
        var mayBeDenied = false
        /// Whether anything may be held for consent.
        var mayBeHeld = false
    }

    /// Creates the state of tables that haven't been read.
    init(limits: StoreLimits) { self.limits = limits }

    /// The number of deliveries ever dropped to make room.
    var overflow: Int {
        lanes.indices.reduce(evictions.deliveries) { $0 + (lanes[$1].lane.ledger.dropped[.overflow] ?? 0) }
    }

    // MARK: Other processes

    /// Detects what other processes have done; called inside each transaction, before anything else.
    ///
    /// - Returns: Whether one has written since the last transaction.
    @discardableResult
    mutating func refresh(_ database: Database) throws -> Bool {
        let pragma = try HotStatement("PRAGMA data_version", database)
        let version = try pragma.step() ? pragma.int(0) : nil
        pragma.reset()
        if version == dataVersion { return false }
        let isFirst = dataVersion == nil
        extent.isExact = isFirst
        dataVersion = version
        upkeep.knownFreePages = 0
        evictions.searchAnew()
        let row = try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT count(*), coalesce(sum(length(body)), 0), min(date), max(sequence)
                    FROM event WHERE sequence > ?
                    """
            ),
            arguments: [lastSequence]
        )
        var oldestNew = Double.infinity
        if let row {
            extent.count += row[0]
            extent.bytes += row[1]
            oldestNew = row[2] ?? .infinity
            extent.oldestDate = min(extent.oldestDate, oldestNew)
            lastSequence = max(lastSequence, row[3] ?? 0)
        }
        try readLanes(oldestNew: oldestNew, database)
        lastSequence = max(lastSequence, lanes.map(\.through).max() ?? 0)
        try measureTail(database)
        try readConsent(database)
        return !isFirst
    }

    /// Reads all lanes again.
    ///
    /// - Parameters:
    ///   - oldestNew: A lower bound of the dates of events that other processes have added.
    ///   - database: The database.
    /// - Throws: The database's error.
    private mutating func readLanes(oldestNew: Double, _ database: Database) throws {
        let oldest = Dictionary(lanes.map { ($0.id, $0.oldestDate) }, uniquingKeysWith: min)
        lanes = try StoredLane.all(database)
        for place in lanes.indices {
            lanes[place].oldestDate = min(oldest[lanes[place].id] ?? extent.oldestDate, oldestNew)
        }
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

    /// Counts everything again, except evicted events.
    mutating func recount(_ database: Database) throws {
        let row = try Row.fetchOne(
            database.cachedStatement(sql: "SELECT count(*), coalesce(sum(length(body)), 0), min(date) FROM event")
        )
        guard let row else { return }
        // It isn't known how many stale ones are left.
        let evicted =
            evictions.areStale ? (count: 0, bytes: 0) : (count: evictions.sequences.count, bytes: evictions.bytes)
        extent = Extent(
            count: row[0] - evicted.count,
            bytes: row[1] - evicted.bytes,
            oldestDate: row[2] ?? .infinity,
            isExact: !evictions.areStale
        )
    }

    // MARK: Lanes

    /// Returns the index of a destination's lane, which is created if necessary.
    mutating func place(of destination: Destination, _ database: Database) throws -> Int {
        if let place = known(destination) { return place }
        // Events of an earlier version, which didn't record their owner, or only the account.
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

    /// Returns the index of a destination's lane, if there is one.
    func known(_ destination: Destination) -> Int? { lanes.firstIndex { $0.lane.destination == destination } }

    /// Writes a changed lane.
    mutating func write(_ place: Int, _ database: Database) throws {
        try writeTail(database)
        try lanes[place].write(database)
    }

    /// Counts dropped deliveries.
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

    /// Notes that bytes were written, and checks how much room is left when it may be short.
    ///
    /// - Returns: Whether the reserve is intact: pages that only deliveries and deletions may use.
    mutating func hasRoom(after bytes: Int, _ database: Database) throws -> Bool {
        // A row fits on one page or begins a new one, and so does an index entry.
        upkeep.knownFreePages -= 3 + bytes / 4_096
        if upkeep.knownFreePages >= limits.pages.reserve { return true }
        let used = try Int.fetchOne(database.cachedStatement(sql: "PRAGMA page_count")) ?? 0
        let free = try Int.fetchOne(database.cachedStatement(sql: "PRAGMA freelist_count")) ?? 0
        upkeep.knownFreePages = limits.pages.most - used + free
        if upkeep.knownFreePages < limits.pages.reserve, hasHead {
            try clearHead(atMost: Self.headPortion, database)
            return try hasRoom(after: 0, database)
        }
        if upkeep.knownFreePages < limits.pages.reserve, !evictions.sequences.isEmpty {
            try dropEvicted(database)
            return try hasRoom(after: 0, database)
        }
        return upkeep.knownFreePages >= limits.pages.reserve
    }

    /// Whether nothing waits, but the file is still as large as when much did.
    func isLargeAndEmpty(_ database: Database) throws -> Bool {
        guard extent.count == 0 else { return false }
        return try Int.fetchOne(database.cachedStatement(sql: "PRAGMA freelist_count")) ?? 0 > 256
    }
}
