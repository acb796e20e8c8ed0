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

/// An open database, set up and checked.
struct StoreConnection: Sendable {
    let database: DatabaseQueue
    /// A second connection, for reading committed data without waiting for the current transaction; `nil` if only
    /// one connection may have the file open.
    let reader: DatabaseQueue?
    let patience: Patience
    let path: String
    /// The identities of the open files.
    let identities: FileIdentities
    private let checkpointer: Checkpointer?

    /// Opens, checks, migrates and sets up.
    ///
    /// - Parameters:
    ///   - path: The database.
    ///   - options: The store's settings.
    ///   - isExclusive: Whether no other process may open it, so that the log's index needn't be on disk.
    /// - Throws: The database's error, or a ``StoreFault``; if its `isDamage` is true, the file should be
    ///   set aside.
    init(path: String, _ options: StoreOptions, isExclusive: Bool) throws {
        let patience = Patience(options.busyTimeout)
        var configuration = Configuration()
        configuration.label = "ExperimentationSQLite"
        configuration.busyMode = .callback { patience.wait(tries: $0) }
        // Where each commit waits for the disk anyway, a second connection that does so would only make it wait longer.
        let isBeside = options.durability == .process
        let checkpointer =
            isExclusive ? nil : Checkpointer(path: path, pages: options.limits.logPages, isBeside: isBeside)
        configuration.prepareDatabase { database in
            // Set before the file is first accessed: otherwise the index of its log is created on disk.
            if isExclusive { try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
            if let checkpointer {
                // Kept by this closure as long as the connection is open.
                checkpointer.follow(database)
            } else {
                try Self.set("wal_autocheckpoint", options.limits.logPages, database)
            }
        }
        #if os(iOS)
            configuration.automaticMemoryManagement = false
        #endif
        database = try DatabaseQueue(path: path, configuration: configuration)
        self.patience = patience
        self.path = path
        self.checkpointer = checkpointer
        try database.writeWithoutTransaction { database in
            try Self.check(database)
            try Self.setUp(database, durability: options.durability, limits: options.limits)
        }
        reader = isExclusive ? nil : try Self.reader(path, patience)
        identities = FileIdentities(of: path)
    }

    /// Closes the file.
    func close() {
        checkpointer?.close()
        try? reader?.close()
        try? database.close()
    }

    /// Notes that another process writes to the file as well.
    func noteOthers() { checkpointer?.share() }

    /// Writes the log back and empties it.
    func emptyLog(_ database: Database) throws {
        // SQLite refuses this at once while the log is being written back.
        checkpointer?.finish()
        try database.checkpoint(.truncate)
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
                // The reader's reads never wait, but opening it waits for another process that migrates the file.
                guard error.isBusy, patience.wait(tries: tries) else { throw error }
                tries += 1
            }
        }
    }

    /// Finds damage that reads and writes don't notice.
    private static func check(_ database: Database) throws {
        // Only this library uses the files; a manipulated schema mustn't run functions.
        try database.execute(sql: "PRAGMA trusted_schema = OFF")
        try database.execute(sql: "PRAGMA cell_size_check = ON")
        guard try String.fetchOne(database, sql: "PRAGMA quick_check(1)") == "ok" else { throw StoreFault.damaged }
    }

    private static func setUp(_ database: Database, durability: Durability, limits: StoreLimits) throws {
        try StoreSchema.migrate(database)
        guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
            throw ExperimentationError(.store, "The file system can't hold a write-ahead log.")
        }
        try TemporaryTables.inMemory.create(database)
        // Deleted data is overwritten where its page is written anyway; freed pages are overwritten by the next events,
        // or removed when a purge rewrites the file. Overwriting those as well would double what a delivery writes.
        try database.execute(sql: "PRAGMA secure_delete = FAST")
        try limitPages(limits, database)
        try set("journal_size_limit", limits.logPages * 4_096, database)
        // Set last, and read back: the database library sets its own value while it opens.
        try set("synchronous", durability.synchronous, database)
        guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == durability.synchronous else {
            throw ExperimentationError(.store, "The durability \(durability.rawValue) can't be set.")
        }
    }

    /// Limits the file's size.
    ///
    /// A file that is larger already, because its limit was higher before, may grow by the reserve, so that what waits in
    /// it can be delivered.
    static func limitPages(_ limits: StoreLimits, _ database: Database) throws {
        let used = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
        let most = limits.pages.most
        try set("max_page_count", used > most ? used + limits.pages.reserve : most, database)
    }

    /// Sets a pragma, which can't be bound; name and value are constants of this library.
    private static func set(_ name: StaticString, _ value: Int, _ database: Database) throws {
        _ = try Row.fetchAll(database, sql: "PRAGMA \(name) = \(value)")
    }
}

/// Sleeps on this thread.
func usleepMilliseconds(_ milliseconds: UInt32) { usleep(milliseconds * 1_000) }
