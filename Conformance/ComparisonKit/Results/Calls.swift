import ConformanceKit
import Experimentation

extension Capability {
    /// The API calls that have no effect without this capability; empty if calls still work, only differently.
    public var calls: [String] {
        switch self {
        case .flags: ["session.bool", "session.int", "session.double", "session.string", "session.details"]
        case .objectFlags: ["session.object"]
        case .flagMetadata: ["EvaluationDetails.metadata"]
        case .experiments: ["session.assignments", "session.decisions"]
        case .stickyAssignments: ["session.honor"]
        case .holdouts: ["Assignment.isHoldout"]
        case .controlGroups: ["Variation.isControl"]
        case .overrides: ["client.force", "client.removeOverrides"]
        case .exposures: ["session.expose"]
        case .campaigns: ["session.setCampaignHandler", "session.heldCampaigns"]
        default: []
        }
    }
}

extension TrackingEvent {
    /// One event of each type that applications track, to see which of them a vendor supports.
    static let examples: [TrackingEvent] = {
        let campaign = Campaign(id: "spring", target: "banner", experience: Variation(id: "a"))
        return ConformanceCase.examples + [
            .campaignImpression(campaign), .campaignDismissal(campaign), .campaignClick(campaign),
        ]
    }()
}

extension VendorStory {
    /// Records which event types the vendor's adapter doesn't support, and why.
    ///
    /// Tracks nothing: only asks the adapter what it would accept.
    mutating func noteRefusals(by sink: (any EventSink)?) {
        for event in TrackingEvent.examples {
            guard let sink else {
                refusedEvents[event.type] = reasons[Capability.tracking.rawValue] ?? "\(name) has no events"
                continue
            }
            do throws(ExperimentationError) { try sink.check(event) } catch {
                // Any other error concerns the example rather than its type.
                if error.code == .unsupported { refusedEvents[event.type] = error.message.withoutFullStop }
            }
        }
    }
}

extension Swap {
    /// Calls that have an effect with the old vendor, but not with the new one.
    public struct LostCalls: Sendable, Hashable, Codable {
        /// The calls, such as `client.force` or `track(.viewItem)`.
        public var calls: [String]
        /// The reason.
        public var reason: String
    }

    static func lostCalls(from before: VendorStory, to after: VendorStory, missing: [Call]) -> [LostCalls] {
        let calls = missing.flatMap { lost in lost.capability.calls.map { (call: $0, reason: lost.reason) } }
        let types = TrackingEvent.types.filter { before.refusedEvents[$0] == nil && after.refusedEvents[$0] != nil }
        let events = types.map { type in
            // The reasons differ only in the type they name; grouped without it.
            (call: "track(.\(type))", type: type, reason: after.refusedEvents[type] ?? "")
        }
        var groups: [LostCalls] = []
        func add(_ call: String, _ reason: String) {
            if let index = groups.firstIndex(where: { $0.reason == reason }) {
                groups[index].calls.append(call)
            } else {
                groups.append(LostCalls(calls: [call], reason: reason))
            }
        }
        for lost in calls { add(lost.call, lost.reason) }
        for lost in events {
            let shared = lost.reason.replacing(lost.type, with: "these")
            let isShared = events.count { $0.reason.replacing($0.type, with: "these") == shared } > 1
            add(lost.call, isShared ? shared : lost.reason)
        }
        return groups
    }
}
