import Experimentation

/// Which events go where: the kinds of events by name, and to which vendors each goes.
///
/// ```swift
/// let events: EventTable = ["purchase": ["crm", "warehouse"], "*": ["warehouse"]]
/// ```
///
/// The names are those of `TrackingEvent.types`; `*` stands for all that have no row of their own. An event that a vendor
/// named under `*` has no word for isn't owed to it; one that stands in a row by itself must be one that the vendor takes.
///
/// Three things find their way by themselves: an event in a vendor's own words and the consent signal go to whoever takes
/// them, and the exposure of an experiment goes to the vendor that decided it, if that vendor takes exposures.
public struct EventTable: Sendable, Hashable {
    /// The name for all that have no row of their own.
    public static let others = "*"

    /// The vendors by kinds of events; empty for everything to everyone.
    public var rows: [String: [String]]

    /// Creates a table; without rows, everything goes to everyone who takes it.
    public init(_ rows: [String: [String]] = [:]) { self.rows = rows }

    /// Everything to these vendors.
    public static func to(_ vendors: String...) -> EventTable { EventTable([others: vendors]) }

    /// Whether a kind of event goes to a vendor.
    func sends(_ type: String, to vendor: String) -> Bool {
        if rows.isEmpty { return true }
        return (rows[type] ?? rows[Self.others])?.contains(vendor) ?? false
    }

    /// Whether a kind of event has a row of its own that leads to a vendor.
    func names(_ type: String, for vendor: String) -> Bool { rows[type]?.contains(vendor) ?? false }

    /// Checks what can be seen without a vendor.
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
                throw .composition("events.\(type)", "a vendor stands there twice")
            }
        }
    }
}

extension EventTable: ExpressibleByDictionaryLiteral {
    /// Creates a table; of two equal names the later counts.
    public init(dictionaryLiteral elements: (String, [String])...) {
        self.init(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
