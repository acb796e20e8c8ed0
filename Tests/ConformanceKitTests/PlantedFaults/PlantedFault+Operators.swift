import ConformanceKit
import ConformanceSubjects
import Experimentation

/// Faults of dates, versions and layers.
extension PlantedFault {
    static let operators: [PlantedFault] = [
        PlantedFault(
            "orders dates as texts",
            caughtBy: "targeting/before-and-after",
            // A text that compares as later than every date.
            knowing("joined") { $0.contains("-") ? $0 : "9999-12-31" }
        ),
        PlantedFault(
            "takes a day for the moment that it begins",
            caughtBy: "targeting/on-a-day",
            alsoBlamedBy: ["targeting/before-and-after"],
            knowing("joined") { $0.count > 10 ? "0001-01-01" : $0 }
        ),
        PlantedFault(
            "orders versions as texts",
            caughtBy: "targeting/versions",
            knowing("appVersion") { $0 == "2.10" ? $0 : $0 < "2.10" ? "0.1" : "99.0" }
        ),
    ]

    static let layers: [PlantedFault] = [
        PlantedFault(
            "overlooks layers",
            caughtBy: "experiments/one-of-a-layer",
            overriding("layered-") { _ in
                [.include(experiment: "left", variation: nil), .include(experiment: "right", variation: nil)]
            }
        ),
        PlantedFault(
            "draws one place for all layers",
            caughtBy: "experiments/layers-apart",
            overriding("celled-") { number in
                let (here, there) =
                    number.isMultiple(of: 2)
                    ? (["left", "upper"], ["right", "lower"]) : (["right", "lower"], ["left", "upper"])
                return here.map { .include(experiment: $0, variation: nil) } + there.map { .exclude(experiment: $0) }
            }
        ),
    ]

    private static func knowing(
        _ attribute: String,
        _ change: @escaping @Sendable (String) -> String
    ) -> BentSubject.Bend {
        .knowing { context in
            guard let text = context.user.attributes[attribute]?.stringValue else { return context }
            var context = context
            context.user.attributes[attribute] = .string(change(text))
            return context
        }
    }

    private static func overriding(
        _ prefix: String,
        _ overrides: @escaping @Sendable (Int) -> [AssignmentOverride]
    ) -> BentSubject.Bend {
        .knowing { context in
            guard context.user.id.hasPrefix(prefix), let number = Int(context.user.id.dropFirst(prefix.count)) else {
                return context
            }
            var context = context
            context.overrides += overrides(number)
            return context
        }
    }
}
