import Foundation
internal import GRDB

/// Rewrites a file, so that no trace of deleted data is left in it.
///
/// SQLite overwrites what it deletes, but where it moves rows between pages, copies stay behind, and its log keeps
/// former pages. The file records that erasing is owed, so that the next process does it if this one dies in between.
struct Erasing: Sendable {
    let file: StoreFile
    let traces: Traces
    let lock: FileLock

    /// Records that erasing is owed, in the transaction that removes something.
    static func owe(_ database: Database) throws {
        // Each debt differs, so that a process that began to erase before a debt was recorded doesn't settle that debt.
        let owe = try HotStatement("INSERT OR REPLACE INTO meta (name, value) VALUES (?, randomblob(8))", database)
        try owe.bind(StoreMeta.erase, at: 1)
        try owe.run()
    }

    /// Whether erasing is owed, including by an earlier run.
    static func isOwed(_ database: Database) throws -> Bool {
        try debt(database) != nil
    }

    /// The current debt's random value; `nil` if nothing is owed.
    private static func debt(_ database: Database) throws -> Data? {
        try Data.fetchOne(database, sql: "SELECT value FROM meta WHERE name = ?", arguments: [StoreMeta.erase])
    }

    /// Rewrites the file.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - emptyLog: Writes its log back and empties it.
    /// - Throws: The database's error.
    func run(_ database: Database, emptyingLogBy emptyLog: (Database) throws -> Void) throws {
        // The new file is first built elsewhere: in memory if it is small, else in an unnamed file.
        let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
        // Not for a closed file, which another process may be replacing.
        file.forgetDamaged()
        let isLarge = pages > 4_096
        if isLarge { try TemporaryTables.inFile.create(database) }
        defer { if isLarge { try? TemporaryTables.inMemory.create(database) } }
        let debt = try Self.debt(database)
        try database.execute(sql: "VACUUM")
        try emptyLog(database)
        try database.execute(
            sql: "DELETE FROM meta WHERE name = ? AND value IS ?",
            arguments: [StoreMeta.erase, debt]
        )
        // Includes users whose events are delivered but still have rows.
        let users = try Row.fetchAll(
            database,
            sql: "SELECT CAST(user AS BLOB) FROM delivery UNION SELECT CAST(user AS BLOB) FROM tail"
        ).compactMap { $0.text(0) }
        traces.erased(leaving: users, isShared: !lock.tryAlone())
    }
}
