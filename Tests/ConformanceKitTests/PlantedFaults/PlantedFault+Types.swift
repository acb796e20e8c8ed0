import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation

/// Faults that show with values of some types only.
extension PlantedFault {
    static let valueTypes: [PlantedFault] = [
        PlantedFault(
            "drops Booleans of a user",
            caughtBy: "targeting/true-and-false",
            knowing { if case .bool = $0 { dropped } else { $0 } }
        ),
        PlantedFault(
            "writes Booleans of a user as numbers",
            caughtBy: "targeting/true-and-false",
            knowing { if case .bool(let flag) = $0 { .int(flag ? 1 : 0) } else { $0 } }
        ),
        PlantedFault(
            "drops fractions of a user",
            caughtBy: "targeting/fractions",
            knowing { if case .double = $0 { dropped } else { $0 } }
        ),
        PlantedFault(
            "rounds fractions of a user",
            caughtBy: "targeting/fractions",
            knowing { if case .double(let number) = $0 { .double(number.rounded()) } else { $0 } }
        ),
        PlantedFault(
            "writes an experiment's values as texts",
            caughtBy: "experiments/values-of-every-type",
            alsoBlamedBy: ["experiments/objects", "users/one-flag*"],
            deciding { $0.assignment == nil ? $0.value : .string(text($0.value)) }
        ),
        PlantedFault(
            "writes an experiment's objects as texts",
            caughtBy: "experiments/objects",
            alsoBlamedBy: ["users/one-flag*"],
            deciding { $0.assignment != nil && isObject($0.value) ? .string(text($0.value)) : $0.value }
        ),
        PlantedFault(
            "writes a rule's numbers as texts",
            caughtBy: "targeting/values-of-every-type",
            alsoBlamedBy: ["users/one-flag*"],
            deciding { resolution in
                guard isOfRule(resolution), resolution.value.doubleValue != nil else { return resolution.value }
                return .string(text(resolution.value))
            }
        ),
        PlantedFault(
            "writes a rule's objects as texts",
            caughtBy: "targeting/objects",
            alsoBlamedBy: ["users/one-flag*"],
            deciding { isOfRule($0) && isObject($0.value) ? .string(text($0.value)) : $0.value }
        ),
        PlantedFault(
            "loses an event's Booleans",
            caughtBy: "events/attributes-of-every-type",
            tracking { if case .bool = $0 { dropped } else { $0 } }
        ),
        PlantedFault(
            "rounds an event's fractions",
            caughtBy: "events/attributes-of-every-type",
            tracking { if case .double(let number) = $0 { .double(number.rounded()) } else { $0 } }
        ),
        PlantedFault(
            "loses an event's null",
            caughtBy: "events/attributes-with-parts",
            tracking { $0 == .null ? dropped : $0 }
        ),
        PlantedFault(
            "loses an event's lists and objects",
            caughtBy: "events/attributes-with-parts",
            tracking { isObject($0) ? dropped : $0 }
        ),
        PlantedFault(
            "dates all but custom events anew",
            caughtBy: "events/screenView",
            alsoBlamedBy: ["events/*"],
            .sending(each: { envelope in
                if !["custom", "exposure"].contains(envelope.event.type) {
                    envelope.date = .init(timeIntervalSince1970: 1_577_836_800)
                }
            })
        ),
        PlantedFault(
            "leaves the anonymous id out of all but custom events",
            caughtBy: "events/screenView",
            alsoBlamedBy: ["events/*"],
            .sending(each: { envelope in
                if !["custom", "exposure"].contains(envelope.event.type) { envelope.identity.anonymousID = nil }
            })
        ),
    ]

    /// No value, which `nil` isn't: as a value it is null.
    private static let dropped = FlagValue?.none

    /// Changes a user's attributes, or drops them.
    private static func knowing(_ change: @escaping @Sendable (FlagValue) -> FlagValue?) -> BentSubject.Bend {
        .knowing { context in
            var context = context
            context.user.attributes = Attributes(context.user.attributes.values.compactMapValues(change))
            return context
        }
    }

    /// Changes the values of flags.
    private static func deciding(_ change: @escaping @Sendable (Resolution) -> FlagValue) -> BentSubject.Bend {
        .deciding { decisions, _ in
            decisions.map(resolution: { resolution in
                var changed = resolution
                changed.value = change(resolution)
                return changed
            })
        }
    }

    /// Changes the attributes of events, or drops them.
    private static func tracking(_ change: @escaping @Sendable (FlagValue) -> FlagValue?) -> BentSubject.Bend {
        .sending(each: { envelope in
            envelope.event.attributes = Attributes(envelope.event.attributes.values.compactMapValues(change))
        })
    }

    private static func isOfRule(_ resolution: Resolution) -> Bool { resolution.variant?.hasPrefix("rule-") == true }

    private static func isObject(_ value: FlagValue) -> Bool { value.objectValue != nil || value.arrayValue != nil }

    private static func text(_ value: FlagValue) -> String { value.stringValue ?? value.description }
}
