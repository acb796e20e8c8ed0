internal import GRDB

/// A connection's own table and views, by where SQLite keeps temporary data.
enum TemporaryTables {
    case inMemory, inFile

    /// Chooses the place and creates them: SQLite deletes all of them whenever the place changes.
    func create(_ database: Database) throws {
        switch self {
        case .inMemory: try database.execute(sql: "PRAGMA temp_store = MEMORY")
        case .inFile: try database.execute(sql: "PRAGMA temp_store = FILE")
        }
        // The users whose deliveries are being removed; empty between transactions.
        try database.execute(
            sql: "CREATE TEMP TABLE IF NOT EXISTS leaving (user TEXT PRIMARY KEY) STRICT, WITHOUT ROWID"
        )
        try OutboxTable.createViews(database)
    }
}
