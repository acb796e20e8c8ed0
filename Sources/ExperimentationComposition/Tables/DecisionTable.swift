import Experimentation

/// Which vendors decide which flags: rows by name or prefix, and a default for all others.
///
/// ```swift
/// DecisionTable(
///     [.flags(["checkout", "price"], from: "optimizer"), .prefix("crm_", from: "messenger")],
///     others: ["optimizer", "messenger"]
/// )
/// ```
///
/// A name takes precedence over a prefix, and a longer prefix over a shorter one. If several vendors are given, they
/// are asked in order; ``Fallback`` says when the next one is asked.
public struct DecisionTable: Sendable, Hashable {
    /// When the next vendor is asked for a flag; the names are OpenFeature's.
    public enum Fallback: String, Sendable, Hashable, CaseIterable {
        /// Only if a vendor doesn't have the flag; a vendor's failure is the answer.
        case firstMatch = "first-match"
        /// Also if a vendor failed, isn't ready or is disabled.
        case firstSuccessful = "first-successful"
    }

    /// Some flags and the vendors that decide them, in order.
    public struct Row: Sendable, Hashable {
        /// The flags' keys; empty for a prefix.
        public let names: [String]
        /// The prefix of the flags' keys; `nil` if they are listed.
        public let prefix: String?
        /// The vendors, in order.
        public let vendors: [String]

        /// A row for flags by key.
        public static func flags(_ names: [String], from vendors: String...) -> Row { .flags(names, from: vendors) }
        /// A row for flags by prefix.
        public static func prefix(_ prefix: String, from vendors: String...) -> Row { .prefix(prefix, from: vendors) }
        /// A row for flags by key, with several vendors in order.
        public static func flags(_ names: [String], from vendors: [String]) -> Row {
            Row(names: names, prefix: nil, vendors: vendors)
        }
        /// A row for flags by prefix, with several vendors in order.
        public static func prefix(_ prefix: String, from vendors: [String]) -> Row {
            Row(names: [], prefix: prefix, vendors: vendors)
        }

        /// The flags that the row covers, for messages.
        var claims: [String] { prefix.map { ["\($0)*"] } ?? names }
    }

    /// The rows, with distinct names and prefixes.
    public var rows: [Row]
    /// The vendors of all other flags, in order; `nil` for every deciding vendor in the composition's order.
    public var others: [String]?
    /// When the next vendor is asked.
    public var fallback: Fallback

    /// Creates a table.
    public init(_ rows: [Row] = [], others: [String]? = nil, fallback: Fallback = .firstMatch) {
        self.rows = rows
        self.others = others
        self.fallback = fallback
    }

    /// Decides all flags with the given vendors, in order.
    public static func from(_ vendors: String..., fallback: Fallback = .firstMatch) -> DecisionTable {
        DecisionTable(others: vendors, fallback: fallback)
    }

    /// The vendors in the table; `nil` for all.
    var vendors: Set<String>? { others.map { Set($0 + rows.flatMap(\.vendors)) } }

    /// The flags listed by key.
    var names: [String] { rows.flatMap(\.names) }

    /// Returns the vendors of a flag, in order; `nil` for every deciding vendor.
    package func vendors(for key: String) -> [String]? {
        if let row = rows.first(where: { $0.names.contains(key) }) { return row.vendors }
        let matching = rows.filter { $0.prefix.map { key.hasPrefix($0) } ?? false }
        let longest = matching.max { ($0.prefix?.utf8.count ?? 0) < ($1.prefix?.utf8.count ?? 0) }
        return longest?.vendors ?? others
    }

    /// Checks what doesn't depend on started vendors.
    func validate(among known: [String]) throws(ExperimentationError) {
        var claimed: [String: [String]] = [:]
        for row in rows {
            if row.claims.isEmpty { throw .composition("decisions", "a row names no flag") }
            if row.vendors.isEmpty { throw .composition("decisions", "no vendor decides \(row.claims[0])") }
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
