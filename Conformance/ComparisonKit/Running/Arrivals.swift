import ConformanceKit
import Experimentation
import Foundation

/// Compares the events that the adapter reported as delivered with those that the vendor received; pure.
///
/// Matches events individually, by everything that the vendor's wire carries: with totals, a hundred repetitions would
/// hide a hundred losses.
struct Arrivals {
    /// The number of repeated events that the vendor received; `nil` if they can't be recognized.
    private(set) var repeated: Int?
    /// The number of events reported as delivered that never arrived; `nil` if they can't be recognized.
    private(set) var lost: Int?
    /// What the vendor received by type, without repetitions.
    private(set) var received: [String: Int] = [:]

    /// Types that aren't events of the application.
    private static let signs: Set<String> = ["identity", "unknown"]
    private static let consent = "consentChanged"

    /// Matches events.
    ///
    /// - Parameters:
    ///   - delivered: The events reported as delivered, as a vendor that accepts everything unchanged would record
    ///     them.
    ///   - received: What the vendor received, in the order of arrival.
    ///   - fields: The fields that its wire carries.
    ///   - isDisturbed: Whether any exchange failed. Only then can two indistinguishable events be mistaken for each
    ///     other.
    init(delivered: [Received], received: [Received], fields: Set<Received.Field>, isDisturbed: Bool) {
        // Without a date, an age distinguishes events only together with the time of sending.
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

    /// Assigns each arrival without an exact match to a waiting event that arrived changed.
    ///
    /// An arrival that equals an earlier one is a repetition, unless more events are waiting that look like the event
    /// that the earlier arrival was assigned to.
    ///
    /// - Returns: The number of repetitions.
    private static func settle(
        _ strangers: [Received],
        _ waiting: inout [Mark: Int],
        _ counts: inout [String: Int]
    ) -> Int {
        var origins: [Mark: Mark?] = [:]
        var again = 0
        for record in strangers {
            if !signs.contains(record.type) {
                let own = Mark(record, Set(Received.Field.allCases))
                let earlier = origins[own]
                let origin = earlier ?? origin(of: own, among: waiting)
                origins[own] = .some(origin)
                let left = origin.flatMap { waiting[$0] } ?? 0
                if earlier != nil, left == 0 {
                    again += 1
                    continue
                }
                if let origin { waiting[origin] = max(0, left - 1) }
            }
            counts[record.type, default: 0] += 1
        }
        return again
    }

    /// The most similar waiting event, so that what remains is what is really missing.
    ///
    /// It is one of another type only if none of its own type is left. A vendor may record a goal as a custom event,
    /// but no event as a change of consent, nor a change of consent as another event.
    private static func origin(of mark: Mark, among waiting: [Mark: Int]) -> Mark? {
        let open = waiting.filter { $0.value > 0 }.keys
        let alike = open.filter { $0.type == mark.type }
        let others = mark.type == consent ? [] : open.filter { $0.type != consent }
        let candidates = alike.isEmpty ? others : alike
        return candidates.max { $0.likeness(to: mark) < $1.likeness(to: mark) }
    }

    /// What distinguishes events on the wire.
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
