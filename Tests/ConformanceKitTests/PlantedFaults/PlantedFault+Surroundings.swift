import ConformanceKit
import ConformanceSubjects
import Experimentation
import Synchronization

/// Faults that show with real accounts: other scripts, many flags, several clients, clocks.
extension PlantedFault {
    static let surroundings: [PlantedFault] = [
        PlantedFault(
            "loses flags whose keys mean something in an address",
            caughtBy: "evaluation/keys-of-every-script",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, _ in decisions.keeping { !$0.contains("/") && !$0.contains("%") } }
        ),
        PlantedFault(
            "keeps five hundred flags",
            caughtBy: "evaluation/a-thousand-flags",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, _ in
                var count = 0
                return decisions.keeping { _ in
                    count += 1
                    return count <= 500
                }
            }
        ),
        PlantedFault(
            "takes everybody whose id is in another script for one user",
            caughtBy: "evaluation/ids-of-every-script",
            .knowing { context in
                var context = context
                if !context.user.id.allSatisfy(\.isASCII) { context.user.id = "Zoë Müller" }
                return context
            }
        ),
        PlantedFault(
            "sends the ASCII part of an id",
            caughtBy: "delivery/ids-of-every-script",
            .sending(each: { $0.identity.id = $0.identity.id.filter(\.isASCII) })
        ),
        PlantedFault(
            "knows attributes in ASCII only",
            caughtBy: "targeting/unicode",
            .knowing { context in
                var context = context
                guard let city = context.user.attributes["city"]?.stringValue else { return context }
                context.user.attributes["city"] = .string(city.filter(\.isASCII))
                return context
            }
        ),
        PlantedFault(
            "keeps three letters of an attribute",
            caughtBy: "targeting/contains",
            alsoBlamedBy: ["targeting/one-of-several", "targeting/not-equal", "targeting/unicode"],
            .knowing { context in
                var context = context
                guard let city = context.user.attributes["city"]?.stringValue else { return context }
                context.user.attributes["city"] = .string(String(city.prefix(3)))
                return context
            }
        ),
        PlantedFault(
            "decides by age in tens",
            caughtBy: "targeting/less-and-greater",
            alsoBlamedBy: [
                "targeting/all-conditions-together", "targeting/the-first-rule-counts", "snapshots/*", "malformed/*",
            ],
            .knowing { context in
                var context = context
                guard let age = context.user.attributes["age"]?.intValue else { return context }
                context.user.attributes["age"] = .int(age / 10)
                return context
            }
        ),
        PlantedFault(
            "prefers one of three variations",
            caughtBy: "experiments/three-variations",
            alsoBlamedBy: ["experiments/a-part-of-the-traffic", "experiments/both-halves-are-used"],
            .knowing { context in
                guard context.user.id.hasPrefix("person-"), "789".contains(context.user.id.suffix(1)) else {
                    return context
                }
                var context = context
                context.overrides.append(.include(experiment: "checkout", variation: "red"))
                return context
            }
        ),
        PlantedFault(
            "lets everybody take part",
            caughtBy: "experiments/a-part-of-the-traffic",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, context in
                guard context.user.id.hasPrefix("person-"), decisions["checkout-color"]?.value == "none" else {
                    return decisions
                }
                return decisions.mapValues { $0 == "none" ? "green" : $0 }
            }
        ),
        PlantedFault(
            "exposes a user to one variation of an experiment, and no other",
            caughtBy: "exposures/again-when-the-variation-changes",
            alsoBlamedBy: ["exposures/*", "kill-switch/*"],
            .once
        ),
        PlantedFault(
            "sends a batch by the time of day",
            caughtBy: "delivery/a-clock-that-goes-back",
            .sending { sink, batch in
                let places = batch.indices.sorted { batch[$0].date < batch[$1].date }
                var report = DeliveryReport(noAnswerTo: batch.count)
                report.add(await sink.deliver(places.map { batch[$0] }), at: places)
                return report
            }
        ),
        PlantedFault(
            "counts another vendor's events",
            caughtBy: "stores/another-vendor",
            alsoBlamedBy: ["destinations/*"],
            .keeping(.mixesAccounts)
        ),
    ]
}

extension Decisions {
    /// The decisions without some flags.
    func keeping(_ isKept: (String) -> Bool) -> Decisions {
        let places = assignments
        return Decisions(
            flags: keys.filter(isKept).compactMap { key in
                guard var found = self[key] else { return nil }
                found.assignment = found.assignment.flatMap { places.firstIndex(of: catalogue.assignments[$0]) }
                return (key: key, resolution: found)
            },
            assignments: places
        )
    }
}

extension BentSubject.Bend {
    /// Reports only the first variation that a user sees of an experiment, in whichever batch the next one comes.
    fileprivate static let once = BentSubject.Bend.sending(by: {
        let first = FirstExposures()
        return { sink, batch in
            let places = batch.indices.filter { first.isFirst(batch[$0]) }
            var report = DeliveryReport(batch.map { _ in .delivered })
            report.add(await sink.deliver(places.map { batch[$0] }), at: places)
            return report
        }
    })
}

/// Each user's first exposure to an experiment.
private final class FirstExposures: Sendable {
    private let ids = Mutex<[String: String]>([:])

    /// Returns whether an event is anything but a later exposure; sending the first one again doesn't make it a later one.
    func isFirst(_ envelope: Envelope) -> Bool {
        guard case .exposure(let exposure) = envelope.event.kind else { return true }
        let place = "\(envelope.identity.id) \(exposure.assignment.experiment.id)"
        return ids.withLock { ids in
            let first = ids[place] ?? envelope.id
            ids[place] = first
            return first == envelope.id
        }
    }
}
