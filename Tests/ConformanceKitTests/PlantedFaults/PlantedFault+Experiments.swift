import ConformanceKit
import ConformanceSubjects
import Experimentation

/// Faults of experiments, exposures and campaigns.
extension PlantedFault {
    static let experiments: [PlantedFault] = [
        PlantedFault(
            "forgets who is sticky",
            caughtBy: "experiments/sticky",
            alsoBlamedBy: ["experiments/sticky-over-a-restart"],
            .knowing { context in
                var context = context
                context.earlierAssignments = [:]
                return context
            }
        ),
        PlantedFault(
            "ignores what this device forces",
            caughtBy: "overrides/include",
            alsoBlamedBy: ["overrides/*"],
            .knowing { context in
                var context = context
                context.overrides = []
                return context
            }
        ),
        PlantedFault(
            "splits 30 to 70 what is to be halved",
            caughtBy: "experiments/both-halves-are-used",
            .knowing { context in
                // Two of five users get the control, whatever half they are in.
                guard context.user.id.hasPrefix("person-"), let number = Int(context.user.id.dropFirst(7)),
                    number % 5 < 2
                else { return context }
                var context = context
                context.overrides.append(.include(experiment: "checkout", variation: "control"))
                return context
            }
        ),
        PlantedFault(
            "hides holdouts",
            caughtBy: "experiments/holdout-is-visible",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, _ in decisions.map(assignment: { $0.isHoldout ? nil : $0 }) }
        ),
        PlantedFault(
            "calls every variation the control",
            caughtBy: "experiments/control-is-visible",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, _ in
                decisions.map(assignment: { assignment in
                    var assignment = assignment
                    assignment.variation.isControl = true
                    return assignment
                })
            }
        ),
        PlantedFault(
            "doesn't say that a user was forced",
            caughtBy: "experiments/forced-by-the-vendor",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, _ in
                decisions.map(assignment: { assignment in
                    var assignment = assignment
                    if assignment.origin == .forcedByVendor { assignment.origin = .allocated }
                    return assignment
                })
            }
        ),
        PlantedFault(
            "doubles exposures",
            caughtBy: "exposures/recorded-once",
            alsoBlamedBy: ["exposures/*"],
            .sending { sink, batch in
                let exposures = batch.filter { $0.event.type == "exposure" }
                if !exposures.isEmpty { _ = await sink.deliver(exposures) }
                return await sink.deliver(batch)
            }
        ),
        PlantedFault(
            "names the experiment in place of the variation",
            caughtBy: "exposures/say-what-was-seen",
            alsoBlamedBy: ["exposures/again-when-the-variation-changes"],
            .sending(each: { envelope in
                guard case .exposure(var exposure) = envelope.event.kind else { return }
                exposure.assignment.variation.id = exposure.assignment.experiment.id
                envelope.event.kind = .exposure(exposure)
            })
        ),
    ]

    static let campaigns: [PlantedFault] = [
        PlantedFault(
            "shows campaigns to the control group",
            caughtBy: "campaigns/control-group",
            answering { $0.isControlGroup = false }
        ),
        PlantedFault(
            "names the campaign in place of the experience",
            caughtBy: "campaigns/answer-an-event",
            answering { $0.experience.id = $0.id }
        ),
        PlantedFault(
            "calls a campaign by its id",
            caughtBy: "campaigns/answer-an-event",
            answering { $0.name = $0.id }
        ),
        PlantedFault(
            "loses what a campaign promotes",
            caughtBy: "campaigns/answer-an-event",
            answering { $0.promotedItems = [:] }
        ),
    ]

    /// Changes the campaigns that answer events.
    private static func answering(_ change: @escaping @Sendable (inout Campaign) -> Void) -> BentSubject.Bend {
        .sending { sink, batch in
            var report = await sink.deliver(batch)
            for index in report.campaigns.indices { change(&report.campaigns[index].campaign) }
            return report
        }
    }
}
