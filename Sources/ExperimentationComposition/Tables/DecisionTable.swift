import Experimentation

/// Which vendor decides what: rows for flags by name or prefix, and a line for all others.
///
/// ```swift
/// DecisionTable(
///     [.flags(["checkout", "price"], from: "optimizer"), .prefix("crm_", from: "messenger")],
///     others: ["optimizer", "messenger"]
/// )
/// ```
///
/// A name counts before a prefix, and a longer prefix before a shorter one. Where several vendors stand in a line, the
/// first answers, and ``Fallback`` says when the next one does.
public struct DecisionTable: Sendable, Hashable {
    /// When the next vendor of a line is asked for a flag; the words are OpenFeature's.
    public enum Fallback: String, Sendable, Hashable, CaseIterable {
        /// Only where a vendor has no such flag; a failure of its own is the answer.
        case firstMatch = "first-match"
        /// Also where a vendor has failed, isn't ready or has switched itself off.
        case firstSuccessful = "first-successful"
    }

    /// Some flags and the vendors that decide them.
    public struct Row: Sendable, Hashable {
        /// The flags' names; none if the row is one of a prefix.
        public let names: [String]
        /// What the flags' names begin with; `nil` if they are listed.
        public let prefix: String?
        /// The vendors, the first to be asked first.
        public let vendors: [String]

        /// Flags by their names.
        public static func flags(_ names: [String], from vendors: String...) -> Row { .flags(names, from: vendors) }
        /// Flags by what their names begin with.
        public static func prefix(_ prefix: String, from vendors: String...) -> Row { .prefix(prefix, from: vendors) }
        /// Flags by their names, with several vendors in a line.
        public static func flags(_ names: [String], from vendors: [String]) -> Row {
            Row(names: names, prefix: nil, vendors: vendors)
        }
        /// Flags by what their names begin with, with several vendors in a line.
        public static func prefix(_ prefix: String, from vendors: [String]) -> Row {
            Row(names: [], prefix: prefix, vendors: vendors)
        }

        /// How messages name what the row claims.
        var claims: [String] { prefix.map { ["\($0)*"] } ?? names }
    }

    /// The rows; no two claim the same.
    public var rows: [Row]
    /// Who decides the flags that stand in no row, the first to be asked first; `nil` for every vendor that decides, in the
    /// order of the composition.
    public var others: [String]?
    /// When the next vendor of a line is asked.
    public var fallback: Fallback

    /// Creates a table.
    public init(_ rows: [Row] = [], others: [String]? = nil, fallback: Fallback = .firstMatch) {
        self.rows = rows
        self.others = others
        self.fallback = fallback
    }

    /// Everything from one vendor or, in a line, from the next one.
    public static func from(_ vendors: String..., fallback: Fallback = .firstMatch) -> DecisionTable {
        DecisionTable(others: vendors, fallback: fallback)
    }

    /// The vendors that stand in it; `nil` if all do.
    var vendors: Set<String>? { others.map { Set($0 + rows.flatMap(\.vendors)) } }

    /// What stands in it by name.
    var names: [String] { rows.flatMap(\.names) }

    /// Who decides a flag, the first to be asked first; `nil` for every vendor that decides.
    package func vendors(for key: String) -> [String]? {
        if let row = rows.first(where: { $0.names.contains(key) }) { return row.vendors }
        let matching = rows.filter { $0.prefix.map { key.hasPrefix($0) } ?? false }
        let longest = matching.max { ($0.prefix?.utf8.count ?? 0) < ($1.prefix?.utf8.count ?? 0) }
        return longest?.vendors ?? others
    }

    /// Checks what can be seen without a vendor.
    func validate(among known: [String]) throws(ExperimentationError) {
        var claimed: [String: [String]] = [:]
        for row in rows {
            if row.claims.isEmpty { throw .composition("decisions", "a row names no flag") }
            if row.vendors.isEmpty { throw .composition("decisions", "nobody decides \(row.claims[0])") }
            for claim in row.claims {
                if let other = claimed.updateValue(row.vendors, forKey: claim) {
                    let (one, two) = (other.joined(separator: ", "), row.vendors.joined(separator: ", "))
                    throw .composition("decisions", "the flag \"\(claim)\" is claimed twice: by \(one) and by \(two)")
                }
            }
        }
        for name in rows.flatMap(\.vendors) + (others ?? []) where !known.contains(name) {
            throw .unknownVendor(name, in: "decisions", among: known)
        }
    }
}
