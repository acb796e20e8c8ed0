import ConformanceKit
import Experimentation

/// Lantern's side: holds flags, takes events, and can be away.
actor LanternBackEnd {
    /// An event in Lantern's words.
    struct Event: Sendable {
        var who: String
        var what: String

        init(_ envelope: Envelope) {
            who = envelope.identity.id
            if case .custom(let name, _) = envelope.event.kind { what = name } else { what = "" }
        }
    }

    private var world: World
    private var isReachable = true
    private(set) var events: [Event] = []
    private(set) var calls: [WorldFault.Operation] = []

    init(_ world: World) { self.world = world }

    func setWorld(_ world: World) { self.world = world }
    func setReachable(_ isReachable: Bool) { self.isReachable = isReachable }

    func flags(
        for user: String,
        _ attributes: [String: FlagValue]
    ) throws(ExperimentationError) -> [(key: String, value: FlagValue)] {
        try enter(.decisions)
        return world.flags.filter { $0.experiment == nil && !$0.isDisabled && !$0.isMalformed }.map { flag in
            let rule = flag.rules.first { $0.when.allSatisfy { $0.matches(Attributes(attributes)) } }
            return (flag.key, rule?.value ?? flag.value)
        }
    }

    func take(_ events: [Event]) throws(ExperimentationError) {
        try enter(.events)
        self.events += events
    }

    private func enter(_ call: WorldFault.Operation) throws(ExperimentationError) {
        guard isReachable else { throw ExperimentationError(.transport, "Lantern can't be reached.") }
        calls.append(call)
    }
}
