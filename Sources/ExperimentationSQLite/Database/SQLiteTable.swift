import Experimentation
import Foundation
internal import GRDB

/// A table in another program's SQLite file, read-only: what an earlier SDK has left on the device.
///
/// ```swift
/// let file = caches.appending(path: "Former/records.db")
/// let records = try SQLiteTable("table_records", in: file).values(of: "body", by: "id")
/// ```
public struct SQLiteTable: Sendable, Hashable {
    /// The table's name.
    public let name: String
    /// The file.
    public let file: URL

    /// Names a table without opening the file.
    public init(_ name: String, in file: URL) { (self.name, self.file) = (name, file) }

    /// Its rows as values by column name; bytes that aren't text are `null`.
    ///
    /// - Returns: The rows in insertion order; none if there is no such file, as in a fresh installation.
    /// - Throws: `ErrorCode.store` if the file isn't a database, has no such table or is in use.
    public func rows() throws(ExperimentationError) -> [[String: FlagValue]] {
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        do {
            var configuration = Configuration()
            configuration.label = "SQLiteTable"
            configuration.readonly = true
            configuration.busyMode = .timeout(1)
            let queue = try DatabaseQueue(path: file.path, configuration: configuration)
            defer { try? queue.close() }
            // A name can't be bound, so it is quoted.
            let quoted = "\"" + name.replacing("\"", with: "\"\"") + "\""
            return try queue.read { database in
                try Row.fetchAll(database, sql: "SELECT * FROM \(quoted) ORDER BY rowid").map { row in
                    Dictionary(row.map { ($0, Self.value($1)) }, uniquingKeysWith: { first, _ in first })
                }
            }
        } catch {
            throw ExperimentationError(.store, "the table \(name) can't be read", cause: error)
        }
    }

    /// One column as bytes, keyed by the text of another; rows without either are left out.
    ///
    /// - Throws: As ``rows()``.
    public func values(of column: String, by key: String) throws(ExperimentationError) -> [String: Data] {
        let pairs = try rows().compactMap { row -> (String, Data)? in
            guard let name = row[key]?.stringValue, let text = row[column]?.stringValue else { return nil }
            return (name, Data(text.utf8))
        }
        return Dictionary(pairs, uniquingKeysWith: { $1 })
    }

    private static func value(_ value: DatabaseValue) -> FlagValue {
        switch value.storage {
        case .null: .null
        case .int64(let number): Int(exactly: number).map(FlagValue.int) ?? .double(Double(number))
        case .double(let number): .double(number)
        case .string(let text): .string(text)
        case .blob(let data): String(validating: data, as: UTF8.self).map(FlagValue.string) ?? .null
        }
    }
}
