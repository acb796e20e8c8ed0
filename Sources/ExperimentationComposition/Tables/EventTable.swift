import Experimentation

/// Which vendors get which events, by kind of event.
///
/// ```swift
/// let events: EventTable = ["purchase": ["crm", "warehouse"], "*": ["warehouse"]]
/// ```
///
/// The kinds are those of `TrackingEvent.types`; `*` covers all without a row of their own. A vendor under `*` gets
/// only events that it supports; a vendor in a row for one kind must support that kind.
///
/// Some events don't depend on the table. Native events and the consent signal go to every vendor that accepts them. An
/// experiment's exposure goes to the vendor that decided it, if that vendor accepts exposures.
public struct EventTable: Sendable, Hashable {
    /// The name of the row for all other kinds.
    public static let others = "*"

    /// The vendors by kind of event; empty to send everything to every vendor.
    public var rows: [String: [String]]

    /// Creates a table; without rows, each event goes to every vendor that accepts it.
    public init(_ rows: [String: [String]] = [:]) { self.rows = rows }

    /// Sends everything to these vendors.
    public static func to(_ vendors: String...) -> EventTable { EventTable([others: vendors]) }

    /// Whether a kind of event goes to a vendor.
    func sends(_ type: String, to vendor: String) -> Bool {
        if rows.isEmpty { return true }
        return (rows[type] ?? rows[Self.others])?.contains(vendor) ?? false
    }

    /// Whether a kind of event has its own row with a vendor.
    func names(_ type: String, for vendor: String) -> Bool { rows[type]?.contains(vendor) ?? false }

    /// Checks what doesn't depend on started vendors.
    func validate(among known: [String]) throws(ExperimentationError) {
        for (type, vendors) in rows.sorted(by: { $0.key < $1.key }) {
            guard type == Self.others || TrackingEvent.types.contains(type) else {
                let all = ([Self.others] + TrackingEvent.types).joined(separator: ", ")
                throw .composition("events.\(type)", "there is no such kind of event; there are \(all)")
            }
            for name in vendors where !known.contains(name) {
                throw .unknownVendor(name, in: "events.\(type)", among: known)
            }
            if Set(vendors).count < vendors.count {
                throw .composition("events.\(type)", "a vendor is listed twice")
            }
        }
    }
}

extension EventTable: ExpressibleByDictionaryLiteral {
    /// Creates a table; of duplicate kinds, the last one counts.
    public init(dictionaryLiteral elements: (String, [String])...) {
        self.init(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
