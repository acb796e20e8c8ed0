import Experimentation
import Foundation
internal import GRDB

/// An event as it is stored.
struct StoredEvent: Sendable {
    var id: String
    var user: String
    var priority: Int
    var isHeld: Bool
    /// Whether a purge leaves it: the consent signal itself.
    var isKept: Bool
    var date: Double
    var body: [UInt8]

    init(_ envelope: Envelope, isHeld: Bool, limit: Int) throws(ExperimentationError) {
        var envelope = envelope
        envelope.sequence = 0
        id = envelope.id
        user = envelope.identity.id
        priority = envelope.event.priority.rawValue
        self.isHeld = isHeld
        if case .consentChanged = envelope.event.kind { isKept = true } else { isKept = false }
        date = envelope.date.timeIntervalSince1970
        body = try EnvelopeCoding.encode(envelope, limit: limit)
    }
}

/// The outbox's tables, with what is remembered of them so that accepting an event reads nothing.
///
/// A value: a transaction works on a copy that takes effect with the commit. What other processes do is noticed by the
/// database's data version at the beginning of each transaction.
struct OutboxTable: Sendable {
    /// How much is kept.
    let limits: StoreLimits
    /// Whose leases are this store's own.
    let owner = Int64.random(in: 1...Int64.max)
    /// The highest sequence ever given.
    var lastSequence: Int64 = 0
    /// The highest sequence that is written down by itself, apart from the rows.
    private var keptSequence: Int64 = -1
    /// How many rows there are; with ``isExact`` false, at most that many.
    var count = 0
    /// How many bytes of bodies there are; with ``isExact`` false, at most that many.
    var bytes = 0
    /// Whether no other process has deleted anything since the rows were counted.
    var isExact = true
    /// No event is older than this.
    var oldestDate = Double.infinity
    /// The time that was last told, for operations that aren't told any.
    var now = 0.0
    /// For each priority: no row of it has a lower sequence.
    var firstOfPriority: [Int64] = [0, 0, 0]
    /// Where the last lease stopped, as long as nothing before it has become free.
    var place: Place?
    /// At most so many pages are known to be free without asking; counted down by what is written.
    var knownFreePages = 0
    private var dataVersion: Int64?

    /// Creates the memory of a table that hasn't been read.
    init(limits: StoreLimits) { self.limits = limits }

    /// Notices what other processes have done; called inside each transaction, before anything else.
    mutating func refresh(_ database: Database) throws {
        let pragma = try HotStatement("PRAGMA data_version", database)
        let version = try pragma.step() ? pragma.int(0) : nil
        pragma.reset()
        if version == dataVersion { return }
        isExact = dataVersion == nil
        dataVersion = version
        knownFreePages = 0
        place = nil
        let floor = try value("sequence", database)
        let row = try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT count(*), coalesce(sum(length(body)), 0), min(date), max(sequence)
                    FROM event WHERE sequence > ?
                    """
            ),
            arguments: [lastSequence]
        )
        guard let row else { return }
        count += row[0]
        bytes += row[1]
        oldestDate = min(oldestDate, row[2] ?? .infinity)
        lastSequence = max(lastSequence, Int64(floor), row[3] ?? 0)
    }

    /// Counts everything anew.
    mutating func recount(_ database: Database) throws {
        let row = try Row.fetchOne(
            database.cachedStatement(sql: "SELECT count(*), coalesce(sum(length(body)), 0), min(date) FROM event")
        )
        guard let row else { return }
        count = row[0]
        bytes = row[1]
        oldestDate = row[2] ?? .infinity
        isExact = true
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
        return knownFreePages >= limits.pages.reserve
    }

    /// Whether nothing waits any more, but the file is as large as when much did.
    func isLargeAndEmpty(_ database: Database) throws -> Bool {
        guard count == 0 else { return false }
        return try Int.fetchOne(database.cachedStatement(sql: "PRAGMA freelist_count")) ?? 0 > 256
    }

    // MARK: Accounts

    /// One of the accounts.
    func value(_ name: String, _ database: Database) throws -> Int {
        let statement = try database.cachedStatement(sql: "SELECT value FROM ledger WHERE name = ?")
        return try Int.fetchOne(statement, arguments: [name]) ?? 0
    }

    /// Adds to one of the accounts.
    func add(_ number: Int, to name: String, _ database: Database) throws {
        if number == 0 { return }
        let statement = try HotStatement(
            """
            INSERT INTO ledger (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = value + excluded.value
            """,
            database
        )
        try statement.bind(name, at: 1)
        try statement.bind(number, at: 2)
        try statement.run()
    }

    /// Writes down the highest sequence, which the rows don't tell once the last of them is deleted.
    mutating func keepSequence(_ database: Database) throws {
        if keptSequence == lastSequence { return }
        let statement = try HotStatement(
            """
            INSERT INTO ledger (name, value) VALUES ('sequence', ?)
            ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)
            """,
            database
        )
        try statement.bind(lastSequence, at: 1)
        try statement.run()
        keptSequence = lastSequence
    }

    /// The accounts.
    func ledger(_ database: Database) throws -> Ledger {
        var ledger = Ledger()
        for row in try Row.fetchAll(database.cachedStatement(sql: "SELECT name, value FROM ledger")) {
            let name: String = row[0]
            let value: Int = row[1]
            switch name {
            case "sequence": break
            case "offset": ledger.accepted -= value
            case "delivered": ledger.delivered = value
            case "purged": ledger.purged = value
            case "quarantined": break
            default: ledger.dropped[Ledger.DropReason(rawValue: name)] = value
            }
        }
        ledger.accepted += Int(clamping: lastSequence)
        ledger.pending = try Int.fetchOne(database.cachedStatement(sql: "SELECT count(*) FROM event")) ?? 0
        return ledger
    }
}
