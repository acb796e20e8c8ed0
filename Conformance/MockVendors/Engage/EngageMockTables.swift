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

    /// Inserts or updates rows by the table's keys; invalid rows are reported, the others are stored.
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
            if let kind = EngageMockColumns.problem(with: value, type: column.type) {
                return "Invalid \(kind) Value in column: \(name)"
            }
        }
        return nil
    }
}
