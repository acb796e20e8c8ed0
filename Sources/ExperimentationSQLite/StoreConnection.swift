import Experimentation
import Foundation
internal import GRDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An open database with its settings made and checked.
struct StoreConnection: Sendable {
    let database: DatabaseQueue
    /// A second connection, for looks at what is committed that mustn't wait for the transaction under way; `nil` where only
    /// one may have the file open.
    let reader: DatabaseQueue?
    let patience: Patience
    let path: String
    /// Which files they are.
    let identities: FileIdentities

    /// Opens, checks, migrates and sets up.
    ///
    /// - Parameters:
    ///   - path: The database.
    ///   - options: How the store behaves.
    ///   - isExclusive: Whether no other process may open it, which needs no index of the log on the disk.
    /// - Throws: What the database says, and ``StoreFault``; an error whose `isDamage` is true calls for setting the
    ///   file aside.
    init(path: String, _ options: SQLiteStore.Options, isExclusive: Bool) throws {
        let patience = Patience(options.busyTimeout)
        var configuration = Configuration()
        configuration.label = "ExperimentationSQLite"
        configuration.busyMode = .callback { patience.wait(tries: $0) }
        // Before the file is looked at for the first time: the index of its log would be made on the disk.
        if isExclusive {
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
        }
        #if os(iOS)
            configuration.automaticMemoryManagement = false
        #endif
        database = try DatabaseQueue(path: path, configuration: configuration)
        self.patience = patience
        self.path = path
        try database.writeWithoutTransaction { database in
            try Self.check(database)
            try Self.setUp(database, durability: options.durability, limits: options.limits)
        }
        reader = isExclusive ? nil : try Self.reader(path, patience)
        identities = FileIdentities(of: path)
    }

    /// Closes the file.
    func close() {
        try? reader?.close()
        try? database.close()
    }

    private static func reader(_ path: String, _ patience: Patience) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "ExperimentationSQLite.reader"
        configuration.busyMode = .immediateError
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA query_only = ON; PRAGMA cache_size = 16") }
        #if os(iOS)
            configuration.automaticMemoryManagement = false
        #endif
        var tries = 0
        while true {
            do {
                return try DatabaseQueue(path: path, configuration: configuration)
            } catch {
                // Its looks never wait; opening it does, for another process that brings the file up to date.
                guard error.isBusy, patience.wait(tries: tries) else { throw error }
                tries += 1
            }
        }
    }

    /// Finds damage that reads and writes don't notice.
    private static func check(_ database: Database) throws {
        // The files are ours alone; a schema that was tampered with mustn't run functions.
        try database.execute(sql: "PRAGMA trusted_schema = OFF")
        try database.execute(sql: "PRAGMA cell_size_check = ON")
        guard try String.fetchOne(database, sql: "PRAGMA quick_check(1)") == "ok" else { throw StoreFault.damaged }
    }

    private static func setUp(_ database: Database, durability: Durability, limits: StoreLimits) throws {
        try StoreSchema.migrate(database)
        guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
            throw ExperimentationError(.store, "The file system can't hold a write-ahead log.")
        }
        try database.execute(sql: "PRAGMA temp_store = MEMORY")
        // Whose deliveries are being removed; empty between transactions.
        try database.execute(sql: "CREATE TEMP TABLE leaving (user TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
        try OutboxTable.createViews(database)
        // What is deleted is overwritten where the page is written anyway; pages that become free are overwritten by
        // the next events, or go when a purge rewrites the file. To overwrite those too would double what a delivery
        // writes.
        try database.execute(sql: "PRAGMA secure_delete = FAST")
        try set("max_page_count", limits.pages.most, database)
        try set("wal_autocheckpoint", limits.logPages, database)
        try set("journal_size_limit", limits.logPages * 4_096, database)
        // Last, and read back: the database library sets its own value while it opens.
        try set("synchronous", durability.synchronous, database)
        guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == durability.synchronous else {
            throw ExperimentationError(.store, "The durability \(durability.rawValue) can't be set.")
        }
    }

    /// Sets a pragma, which can't be bound; name and value are ours.
    private static func set(_ name: StaticString, _ value: Int, _ database: Database) throws {
        _ = try Row.fetchAll(database, sql: "PRAGMA \(name) = \(value)")
    }
}

/// Sleeps on this thread.
func usleepMilliseconds(_ milliseconds: UInt32) { usleep(milliseconds * 1_000) }
