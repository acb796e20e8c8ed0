import AdapterKit
import Experimentation
import Foundation

extension Evergage {
    /// A call, in its state when it was made.
    struct Captured: Sendable {
        enum Content: Sendable {
            case action(EvergageAction)
            case viewTime(EvergageViewing.Timer.Portion)
        }
        var content: Content
        var date: Date
        var ids: EvergageIDs
        /// The attributes that it carries; `nil` if it can't carry any.
        var attributes: EvergageAttributes?
        var surface: String?
        /// The targets of the surface that had handlers, sorted.
        var targets: [String]
        /// Whether it represents the launch, whose actions become known later.
        var isLaunch = false

        var event: TrackingEvent {
            switch content {
            case .viewTime(let portion): return portion.event
            case .action(var action):
                for (party, values) in attributes ?? [:] {
                    action.members[object: party.rawValue][object: "attributes"] = values
                }
                action.members[object: "account"]["id"] = ids[.account].map(FlagValue.string)
                return action.event
            }
        }
    }
}

/// A viewed item, as named in reports of view time.
struct EvergageSubject: Sendable, Hashable {
    var type: String
    var id: ExactText
    var action: String
}

extension EvergageViewing.Timer.Portion {
    /// The event that reports it, which only this vendor has.
    fileprivate var event: TrackingEvent {
        let native = NativeEvent(
            type: EvergageTranslation.Native.viewTime,
            payload: [
                "type": .string(subject.type), "id": .string(subject.id.text), "action": .string(subject.action),
                "milliseconds": .int(Int(time / .milliseconds(1))),
            ],
            carriesAttributeChanges: false
        )
        return TrackingEvent(.native(native))
    }
}

/// A party that ids and attributes belong to; the raw value is the member of an event that carries them.
enum EvergageParty: String, Sendable, CaseIterable {
    case user, account
}

/// The ids of the parties that the application has named.
typealias EvergageIDs = [EvergageParty: String]

/// Attributes that go with an action, by party.
typealias EvergageAttributes = [EvergageParty: [String: FlagValue]]

extension EvergageAttributes {
    /// Adds attributes that were set earlier; if both have a name, the later value stays.
    mutating func add(earlier: Self) {
        merge(earlier) { own, earlier in own.merging(earlier) { later, _ in later } }
    }

    /// Removes the attributes of a named user or account that would go with another one's event.
    ///
    /// - Returns: The parties whose attributes were removed.
    mutating func keepOwn(of ids: EvergageIDs, for next: EvergageIDs) -> [EvergageParty] {
        EvergageParty.allCases.filter { party in
            // The first id of a party changes nothing.
            guard let id = ids[party], ExactText(id) != next[party].map(ExactText.init) else { return false }
            return removeValue(forKey: party)?.isEmpty == false
        }
    }
}
