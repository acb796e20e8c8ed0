import ConformanceKit
import Experimentation
import Foundation

/// What became of events between the adapter, which says that they were delivered, and the vendor; pure.
///
/// Events are matched one by one, by all that the vendor's wire tells of them: totals would let a hundred repetitions hide a
/// hundred losses.
struct Arrivals {
    /// How many arrivals were of an event that the vendor had already; `nil` if it can't be told.
    private(set) var repeated: Int?
    /// How many events were said to be delivered and never arrived; `nil` if it can't be told.
    private(set) var lost: Int?
    /// What the vendor took, by type, repetitions left out.
    private(set) var received: [String: Int] = [:]

    /// What isn't an event of the application's.
    private static let signs: Set<String> = ["identity", "unknown"]

    /// Matches events.
    ///
    /// - Parameters:
    ///   - delivered: The events that the adapter said were delivered, as a vendor that takes everything would have them.
    ///   - received: What the vendor took, in the order of arrival.
    ///   - fields: What its wire tells.
    ///   - isDisturbed: Whether any exchange ended badly. Two events that nothing tells apart can only be mistaken then.
    init(delivered: [Received], received: [Received], fields: Set<Received.Field>, isDisturbed: Bool) {
        // An age instead of a date tells one event from another only beside the time of sending.
        let isDated = received.allSatisfy { Self.signs.contains($0.type) || $0.date != nil }
        let fields = isDated ? fields : fields.subtracting([.date])
        var waiting: [Mark: Int] = [:]
        for event in delivered { waiting[Mark(event, fields), default: 0] += 1 }
        let isTold = !isDisturbed || waiting.values.allSatisfy { $0 == 1 }
        let known = Set(waiting.keys)
        var again = 0
        var strangers: [Received] = []
        for record in received {
            let mark = Mark(record, fields)
            if let count = waiting[mark], count > 0 {
                waiting[mark] = count - 1
                self.received[record.type, default: 0] += 1
            } else if known.contains(mark) {
                again += 1
            } else {
                strangers.append(record)
            }
        }
        let rest = Self.settle(strangers, &waiting, &self.received)
        repeated = isTold ? again + rest : nil
        lost = isTold ? waiting.values.reduce(0, +) : nil
    }

    /// Takes what has no exact match for an event of its type that the vendor was told otherwise: once for each mark, for a
    /// second arrival with the same mark is a repetition.
    ///
    /// - Returns: How many were repetitions.
    private static func settle(
        _ strangers: [Received],
        _ waiting: inout [Mark: Int],
        _ counts: inout [String: Int]
    ) -> Int {
        var seen: Set<Mark> = []
        var again = 0
        for record in strangers {
            let isEvent = !signs.contains(record.type)
            guard seen.insert(Mark(record, Set(Received.Field.allCases))).inserted || !isEvent else {
                again += 1
                continue
            }
            counts[record.type, default: 0] += 1
            guard isEvent else { continue }
            let open = waiting.filter { $0.value > 0 && $0.key.type == record.type }.keys
            // The one that has most in common, so that what is missing in the end is what is missing.
            let own = Mark(record, Set(Received.Field.allCases))
            if let best = open.max(by: { $0.likeness(to: own) < $1.likeness(to: own) }) { waiting[best]? -= 1 }
        }
        return again
    }

    /// What tells one event from another, as far as the wire does.
    private struct Mark: Hashable {
        var type: String
        var name: String?
        var value: Double?
        var attributes: [String: FlagValue] = [:]
        var variation: String?
        var orderID: String?
        var items: [String] = []
        var eventID: String?
        var milliseconds: Int64?
        var isGranted: Bool?
        var campaign: String?

        init(_ record: Received, _ fields: Set<Received.Field>) {
            type = record.type
            isGranted = record.isGranted
            campaign = record.campaign
            if fields.contains(.name) { name = record.name }
            if fields.contains(.value) { value = record.value }
            if fields.contains(.attributes) { attributes = record.attributes }
            if fields.contains(.experiment) { variation = record.variation }
            if fields.contains(.orderID) { orderID = record.orderID }
            if fields.contains(.items) { items = record.items }
            if fields.contains(.eventID) { eventID = record.eventID }
            if fields.contains(.date), let date = record.date {
                milliseconds = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded())
            }
        }

        func likeness(to other: Mark) -> Int {
            (name == other.name ? 1 : 0) + (value == other.value ? 1 : 0) + (orderID == other.orderID ? 1 : 0)
                + (items == other.items ? 1 : 0) + (milliseconds == other.milliseconds ? 1 : 0)
                + (variation == other.variation ? 1 : 0)
        }
    }
}
