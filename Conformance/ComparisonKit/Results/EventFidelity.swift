import ConformanceKit
import Experimentation
import Foundation

/// How much of an event type reaches a vendor's wire.
public struct EventFidelity: Sendable, Hashable, Codable {
    /// What happened to a field.
    public enum Fate: String, Sendable, Hashable, Codable {
        /// The vendor has the original value.
        case kept
        /// The vendor has another value.
        case changed
        /// The vendor has no value.
        case lost
    }

    /// The event's type.
    public var type: String
    /// Why the adapter refuses it; `nil` if it accepts it.
    public var refusal: String?
    /// The type under which it arrived; `nil` if nothing arrived.
    public var arrivedAs: String?
    /// What happened to each field of the event.
    public var fields: [String: Fate]

    /// Creates the fidelity of an event type.
    public init(type: String, refusal: String? = nil, arrivedAs: String? = nil, fields: [String: Fate] = [:]) {
        self.type = type
        self.refusal = refusal
        self.arrivedAs = arrivedAs
        self.fields = fields
    }

    /// Compares a tracked event with what arrived.
    ///
    /// - Parameters:
    ///   - sent: The event, with a date from before it was tracked.
    ///   - arrived: What arrived.
    ///   - end: A date from after it was tracked; on a busy machine, tracking takes a while.
    init(_ sent: Received, arrived: [Received], trackedBy end: Date? = nil) {
        self.init(type: sent.type)
        // An event may arrive as several; each of them contributes.
        guard let one = arrived.first(where: { $0.type == sent.type }) ?? arrived.first else {
            for field in Self.fields(of: sent) { fields[field.rawValue] = .lost }
            return
        }
        arrivedAs = one.type
        for field in Self.fields(of: sent) {
            let fates = arrived.map { Self.fate(of: field, sent, $0, trackedBy: end) }
            fields[field.rawValue] = fates.contains(.kept) ? .kept : fates.contains(.changed) ? .changed : .lost
        }
    }

    private static func fields(of sent: Received) -> [Received.Field] {
        Received.Field.allCases.filter { field in
            switch field {
            case .userID: sent.userID != nil
            case .anonymousID: sent.anonymousID != nil
            case .name: sent.name != nil
            case .value: sent.value != nil
            case .attributes: !sent.attributes.isEmpty
            case .experiment: sent.experiment != nil
            case .orderID: sent.orderID != nil
            case .items: !sent.items.isEmpty
            case .eventID: sent.eventID != nil
            case .date: sent.date != nil
            }
        }
    }

    private static func fate(
        of field: Received.Field,
        _ sent: Received,
        _ arrived: Received,
        trackedBy end: Date?
    ) -> Fate {
        func fate<Value: Equatable>(_ one: Value?, _ other: Value?) -> Fate {
            guard let other else { return .lost }
            return one == other ? .kept : .changed
        }
        switch field {
        case .userID: return fate(sent.userID, arrived.userID)
        case .anonymousID: return fate(sent.anonymousID, arrived.anonymousID)
        case .name: return fate(sent.name, arrived.name)
        case .value: return fate(sent.value, arrived.value)
        case .experiment: return fate(sent.variation, arrived.variation)
        case .orderID: return fate(sent.orderID, arrived.orderID)
        case .eventID: return fate(sent.eventID, arrived.eventID)
        case .items:
            return arrived.items.isEmpty ? .lost : fate(Set(sent.items), Set(arrived.items))
        case .attributes:
            let own = sent.attributes.filter { arrived.attributes[$0.key] != nil }
            guard own.count == sent.attributes.count else { return .lost }
            return own.allSatisfy { arrived.attributes[$0.key] == $0.value } ? .kept : .changed
        case .date:
            // An age implies the date. Vendors round, some to seconds.
            guard let date = arrived.date else { return arrived.age == nil ? .lost : .kept }
            guard let begin = sent.date, date > begin - 1, date < max(begin, end ?? begin) + 1 else { return .changed }
            return .kept
        }
    }

    /// Describes what happened to the event; omits fields with the fate in `common`.
    ///
    /// - Parameter common: The fields to omit.
    /// - Returns: A phrase such as `keeps name; loses attributes`.
    func sentence(without common: Set<String> = []) -> String {
        if let refusal { return "refused: \(refusal)" }
        guard let arrivedAs else { return "nothing arrives" }
        var parts = arrivedAs == type ? [] : ["arrives as \(arrivedAs)"]
        for (fate, word) in [(Fate.kept, "keeps"), (.changed, "changes"), (.lost, "loses")] {
            let own = fields.filter { $0.value == fate && !common.contains($0.key) }.keys.sorted()
            if !own.isEmpty { parts.append("\(word) \(own.joined(separator: ", "))") }
        }
        return parts.isEmpty ? "arrives" : parts.joined(separator: "; ")
    }
}

extension VendorStory {
    /// The fields that all events have and that share one fate at this vendor.
    var commonFates: [String: EventFidelity.Fate] {
        let arrived = fidelity.filter { $0.arrivedAs != nil }
        guard let first = arrived.first else { return [:] }
        return first.fields.filter { field, fate in arrived.allSatisfy { $0.fields[field] == fate } }
    }

    /// Describes what happens to every event; `nil` if nothing arrives at all.
    var commonFidelity: String? {
        let common = commonFates
        guard !common.isEmpty else { return nil }
        return EventFidelity(type: "", arrivedAs: "", fields: common).sentence()
    }

    /// Describes what happens to events of a type.
    func fidelity(of type: String) -> String {
        guard let own = fidelity.first(where: { $0.type == type }) else { return "–" }
        return own.sentence(without: Set(commonFates.keys))
    }
}

extension VendorStory {
    /// The event types grouped by what happens to them; reasons that differ only in the type they name are merged.
    var fidelityGroups: [(types: [String], sentence: String)] {
        var groups: [(types: [String], sentence: String)] = []
        for event in fidelity {
            let sentence = fidelity(of: event.type).replacing(event.type, with: "these")
            if let index = groups.firstIndex(where: { $0.sentence == sentence }) {
                groups[index].types.append(event.type)
            } else {
                groups.append(([event.type], sentence))
            }
        }
        return groups
    }
}

extension Comparison {
    /// The event types with known fidelity, in order.
    var fidelityTypes: [String] { vendors.first { !$0.fidelity.isEmpty }?.fidelity.map(\.type) ?? [] }
}
