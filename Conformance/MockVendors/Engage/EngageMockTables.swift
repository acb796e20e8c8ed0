import Foundation

/// The operations of the XML interface that touch relational tables.
extension EngageMockBackEnd {
    func tableIndex(_ operation: EngageNode) throws(EngageFault) -> Int {
        guard let text = operation.value("TABLE_ID"), !text.isEmpty else { throw .missing("TABLE_ID") }
        guard let index = tables.firstIndex(where: { String($0.id) == text }) else {
            throw EngageFault(106, "Table with id \(text) does not exist.")
        }
        return index
    }

    private func rows(_ operation: EngageNode) throws(EngageFault) -> [EngageNode] {
        guard let rows = operation.child("ROWS")?.all("ROW"), !rows.isEmpty else { throw .missing("ROWS") }
        guard rows.count <= 100 else { throw EngageFault(100, "No more than 100 rows are taken at once") }
        return rows
    }

    /// Inserts or updates rows by the table's keys; what is wrong with a row is told, and the others go in.
    mutating func upsertRows(_ operation: EngageNode) throws(EngageFault) -> String {
        let at = try tableIndex(operation)
        var failures = ""
        for node in try rows(operation) {
            var row: [String: String] = [:]
            for column in node.all("COLUMN") { row[column.attributes["name"] ?? ""] = column.text }
            if let problem = problem(with: row, in: tables[at]) {
                failures += "<FAILURE failure_type=\"permanent\" description=\"\(EngageMarkup.escaped(problem))\">"
                for key in tables[at].keys {
                    failures += "<COLUMN name=\"\(EngageMarkup.escaped(key))\">"
                    failures += EngageMarkup.escaped(row[key] ?? "") + "</COLUMN>"
                }
                failures += "</FAILURE>"
                continue
            }
            let keys = tables[at].keys
            if let found = tables[at].rows.firstIndex(where: { old in keys.allSatisfy { old[$0] == row[$0] } }),
                !keys.isEmpty
            {
                tables[at].rows[found].merge(row) { $1 }
            } else {
                tables[at].rows.append(row)
            }
        }
        return "<SUCCESS>true</SUCCESS>" + (failures.isEmpty ? "" : "<FAILURES>\(failures)</FAILURES>")
    }

    /// Deletes rows by the table's keys.
    mutating func deleteRows(_ operation: EngageNode) throws(EngageFault) -> String {
        let at = try tableIndex(operation)
        for node in try rows(operation) {
            var wanted: [String: String] = [:]
            for column in node.all("KEY_COLUMN") + node.all("COLUMN") {
                wanted[column.attributes["name"] ?? ""] = column.text
            }
            guard !wanted.isEmpty else { throw .missing("KEY_COLUMN") }
            tables[at].rows.removeAll { row in wanted.allSatisfy { row[$0.key] == $0.value } }
        }
        return "<SUCCESS>true</SUCCESS>"
    }

    private func problem(with row: [String: String], in table: Table) -> String? {
        for key in table.keys where row[key, default: ""].isEmpty { return "Missing key column: \(key)" }
        for (name, value) in row.sorted(by: { $0.key < $1.key }) {
            guard let column = table.columns.first(where: { $0.name == name }) else { return "Unknown column: \(name)" }
            switch column.type {
            case 2 where !value.isEmpty && Double(value) == nil: return "Invalid Numeric Value in column: \(name)"
            case 3 where !value.isEmpty && !Self.isDate(value), 17 where !value.isEmpty && !Self.isDate(value):
                return "Invalid Date Value in column: \(name)"
            default: continue
            }
        }
        return nil
    }

    /// Whether a text begins with `MM/dd/yyyy`, `MM-dd-yyyy` or `yyyy-MM-dd` and goes on with nothing but a time and a
    /// zone.
    static func isDate(_ text: String) -> Bool {
        let parts = text.split(separator: " ", omittingEmptySubsequences: true)
        guard let day = parts.first, parts.count <= 3 else { return false }
        let numbers = day.split { $0 == "/" || $0 == "-" }.map { Int($0) ?? -1 }
        guard numbers.count == 3, !numbers.contains(-1) else { return false }
        let (year, month, date) =
            numbers[0] > 31 ? (numbers[0], numbers[1], numbers[2]) : (numbers[2], numbers[0], numbers[1])
        guard (1000...9999).contains(year), (1...12).contains(month), (1...31).contains(date) else { return false }
        if parts.count > 1 {
            let time = parts[1].split(separator: ":").map { Int($0) ?? -1 }
            guard time.count == 3, (0..<24).contains(time[0]), (0..<60).contains(time[1]), (0..<61).contains(time[2])
            else { return false }
        }
        return parts.count < 3 || ["GMT", "UTC", "Z"].contains(String(parts[2]))
    }
}
