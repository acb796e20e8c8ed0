import Experimentation
import Foundation
internal import GRDB

extension WaitingEvent {
    /// A waiting event as it lies in the table.
    struct Row: Sendable {
        var sequence: Int64
        var isHeld: Bool
        var body: Data
        var attempts: Int
        var reason: String?
    }

    static func rows(after sequence: Int64, limit: Int, _ database: Database) throws -> [Row] {
        let sql = """
            SELECT event.sequence, held, body, attempts, reason
            FROM event LEFT JOIN attempt USING (sequence)
            WHERE event.sequence > ? ORDER BY event.sequence LIMIT ?
            """
        return try GRDB.Row.fetchAll(database, sql: sql, arguments: [sequence, max(1, limit)]).map { row in
            Row(
                sequence: row[0],
                isHeld: row[1],
                body: row[2],
                attempts: row[3] ?? 0,
                reason: row[4]
            )
        }
    }
}
