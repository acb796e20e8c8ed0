import ConformanceKit
import Experimentation
import Foundation

/// What of one type of event is on a vendor's wire.
public struct EventFidelity: Sendable, Hashable, Codable {
    /// What became of a field.
    public enum Fate: String, Sendable, Hashable, Codable {
        /// The vendor has it as it was.
        case kept
        /// The vendor has something else in its place.
        case changed
        /// The vendor hasn't got it.
        case lost
    }

    /// The event's type.
    public var type: String
    /// Why the adapter refuses it; `nil` if it takes it.
    public var refusal: String?
    /// The type that the vendor has it as; `nil` if nothing arrived.
    public var arrivedAs: String?
    /// What became of each field that the event has.
    public var fields: [String: Fate]

    /// Creates the fidelity of one type.
    public init(type: String, refusal: String? = nil, arrivedAs: String? = nil, fields: [String: Fate] = [:]) {
        self.type = type
        self.refusal = refusal
        self.arrivedAs = arrivedAs
        self.fields = fields
    }

    /// Compares what was tracked with what arrived of it.
    init(_ sent: Received, arrived: [Received]) {
        self.init(type: sent.type)
        // One event may be several on the wire; what any of them tells is told.
        guard let one = arrived.first(where: { $0.type == sent.type }) ?? arrived.first else {
            for field in Self.fields(of: sent) { fields[field.rawValue] = .lost }
            return
        }
        arrivedAs = one.type
        for field in Self.fields(of: sent) {
            let fates = arrived.map { Self.fate(of: field, sent, $0) }
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

    private static func fate(of field: Received.Field, _ sent: Received, _ arrived: Received) -> Fate {
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
            // An age tells the date too, and clocks are read at different moments.
            guard let date = arrived.date else { return arrived.age == nil ? .lost : .kept }
            return sent.date.map { abs($0.timeIntervalSince(date)) < 1 } == true ? .kept : .changed
        }
    }

    /// What became of it, in a few words; fields that every event of the vendor loses or keeps are left to ``common``.
    ///
    /// - Parameter common: Fields that aren't worth a word here.
    /// - Returns: Such as `keeps name; loses attributes`.
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
    /// The fields that all events have, and that share one fate with this vendor.
    var commonFates: [String: EventFidelity.Fate] {
        let arrived = fidelity.filter { $0.arrivedAs != nil }
        guard let first = arrived.first else { return [:] }
        return first.fields.filter { field, fate in arrived.allSatisfy { $0.fields[field] == fate } }
    }

    /// What happens to every event, in a few words; `nil` if nothing arrives at all.
    var commonFidelity: String? {
        let common = commonFates
        guard !common.isEmpty else { return nil }
        return EventFidelity(type: "", arrivedAs: "", fields: common).sentence()
    }

    /// What becomes of events of one type, in a few words.
    func fidelity(of type: String) -> String {
        guard let own = fidelity.first(where: { $0.type == type }) else { return "–" }
        return own.sentence(without: Set(commonFates.keys))
    }
}

extension VendorStory {
    /// The types of events by what becomes of them, in a few words; the same reason names another type each time, and said
    /// once it names none.
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
    /// The types of events whose fidelity is known, in order.
    var fidelityTypes: [String] { vendors.first { !$0.fidelity.isEmpty }?.fidelity.map(\.type) ?? [] }
}
