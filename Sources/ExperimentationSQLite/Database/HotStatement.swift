internal import GRDB
internal import GRDBSQLite

/// A statement that runs thousands of times a second: bound and stepped through SQLite's own interface.
///
/// The database prepares, keeps and finalizes it like any other. Only the path of the values is shorter, which for a
/// small insert is half of its cost.
struct HotStatement {
    private let statement: Statement
    private let database: Database

    private var pointer: OpaquePointer { statement.sqliteStatement }

    /// Prepares a statement, or takes the cached one.
    init(_ sql: String, _ database: Database) throws {
        statement = try database.cachedStatement(sql: sql)
        self.database = database
        sqlite3_reset(statement.sqliteStatement)
    }

    // MARK: Binding

    /// Makes SQLite copy strings and bytes while they are bound.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// Binds an integer.
    func bind(_ value: Int64, at place: Int32) throws { try check(sqlite3_bind_int64(pointer, place, value)) }

    /// Binds an integer.
    func bind(_ value: Int, at place: Int32) throws { try bind(Int64(value), at: place) }

    /// Binds a Boolean as SQLite stores it: 0 or 1.
    func bind(_ value: Bool, at place: Int32) throws { try bind(value ? 1 as Int64 : 0, at: place) }

    /// Binds a number.
    func bind(_ value: Double, at place: Int32) throws { try check(sqlite3_bind_double(pointer, place, value)) }

    /// Binds a string.
    func bind(_ value: String, at place: Int32) throws {
        var value = value
        let code = value.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                sqlite3_bind_text(pointer, place, bytes.baseAddress, Int32(clamping: bytes.count), Self.copied)
            }
        }
        try check(code)
    }

    /// Binds NULL.
    func bindNull(at place: Int32) throws { try check(sqlite3_bind_null(pointer, place)) }

    /// Binds bytes.
    func bind(_ value: [UInt8], at place: Int32) throws {
        // A null pointer would bind NULL.
        if value.isEmpty { return try check(sqlite3_bind_zeroblob(pointer, place, 0)) }
        let code = value.withUnsafeBytes { bytes in
            sqlite3_bind_blob(pointer, place, bytes.baseAddress, Int32(clamping: bytes.count), Self.copied)
        }
        try check(code)
    }

    // MARK: Running

    /// Runs the statement to its end.
    func run() throws {
        defer { sqlite3_reset(pointer) }
        while try step() {}
    }

    /// Binds integers in order, and runs the statement to its end.
    func run(_ values: Int64...) throws {
        for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1)) }
        try run()
    }

    /// Advances to the next row.
    ///
    /// A caller that stops before the last row must call ``reset()``.
    ///
    /// - Returns: Whether there is a row.
    /// - Throws: The database's error; the statement is then reset.
    func step() throws -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let error = fault(code)
            sqlite3_reset(pointer)
            throw error
        }
    }

    /// Resets the statement.
    func reset() { sqlite3_reset(pointer) }

    /// The number of rows that this connection's last change or deletion touched.
    var changes: Int { Int(sqlite3_changes(database.sqliteConnection)) }

    // MARK: Reading

    /// An integer of the row.
    func int(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

    /// A number of the row, or `nil`.
    func double(_ column: Int32) -> Double? {
        sqlite3_column_type(pointer, column) == SQLITE_NULL ? nil : sqlite3_column_double(pointer, column)
    }

    /// A string of the row; empty for NULL.
    func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(pointer, column) else { return "" }
        let count = Int(sqlite3_column_bytes(pointer, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// The number of bytes in a column of the row.
    func count(_ column: Int32) -> Int { Int(sqlite3_column_bytes(pointer, column)) }

    /// Appends a column's bytes to others; none for NULL.
    func append(_ column: Int32, to bytes: inout [UInt8]) {
        guard let start = sqlite3_column_blob(pointer, column) else { return }
        bytes.append(
            contentsOf: UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
        )
    }

    // MARK: Errors

    private func check(_ code: Int32) throws {
        if code != SQLITE_OK { throw fault(code) }
    }

    /// Returns the error, without the statement and its values.
    private func fault(_ code: Int32) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: sqlite3_extended_errcode(database.sqliteConnection)),
            message: "the statement failed with code \(code)"
        )
    }
}
