import Experimentation

/// A vendor of a composition that has been started.
struct Part: Sendable {
    let name: String
    let destination: Destination
    let context: ProviderContext
    let roles: ProviderRoles
    let killSwitch: PartSwitch
    /// Whether it takes exposures as such.
    let takesExposures: Bool

    init(
        name: String,
        destination: Destination,
        context: ProviderContext,
        roles: ProviderRoles,
        killSwitch: PartSwitch
    ) {
        self.name = name
        self.destination = destination
        self.context = context
        self.roles = roles
        self.killSwitch = killSwitch
        let assignment = Assignment(experiment: Experiment(id: "any"), variation: Variation(id: "any"))
        let exposure = TrackingEvent(.exposure(Exposure(assignment: assignment)))
        let sinks = (roles.events.map { [$0] } ?? []) + roles.furtherRoutes.map(\.sink)
        takesExposures = sinks.contains { $0.takes(exposure) }
    }

    /// Whether exposures of other vendors' experiments mean nothing to it: it has experiments of its own, or takes no exposures.
    var countsOnlyItsOwn: Bool { roles.decisions != nil || !takesExposures }

    /// The context as this vendor may see it: assignments to honour if it keeps any, overrides if it lets itself be overruled.
    func context(_ context: EvaluationContext) -> EvaluationContext {
        let policy = roles.assignments
        return context.visible(overrides: policy.allowsOverrides, earlierAssignments: policy.isSticky)
    }

    /// Where the vendor takes events: its own sink, and those that stand behind it.
    var routes: [EventRoute] {
        let own = roles.events.map { EventRoute(to: destination, by: $0, needsConsent: roles.needsConsent) }
        return (own.map { [$0] } ?? []) + roles.furtherRoutes
    }
}

/// The vendors of a composition that has been started.
struct Parts: Sendable {
    let all: [Part]
    /// Those that the table names as deciders, in the order in which they are asked where it names none.
    let deciding: [Part]
    let table: DecisionTable
    let board: SwitchBoard

    init(_ all: [Part], _ table: DecisionTable, _ board: SwitchBoard) {
        self.board = board
        self.all = all
        self.table = table
        let named = table.vendors
        deciding = all.filter { $0.roles.decisions != nil && (named?.contains($0.name) ?? true) }
    }

    /// Who decides a flag, as places among those who decide.
    func line(for key: String) -> [Int] {
        guard let names = table.vendors(for: key) else { return Array(deciding.indices) }
        return names.compactMap { name in deciding.firstIndex { $0.name == name } }
    }

    /// Whether the whole is off: everybody who decides or, where nobody does, everybody who takes events.
    var areOff: Bool {
        let asked = deciding.isEmpty ? all.filter(\.roles.takesEvents) : deciding
        return !asked.isEmpty && asked.allSatisfy(\.killSwitch.isOn)
    }
}

extension EventSink {
    /// Whether the vendor has a word for an event.
    func takes(_ event: TrackingEvent) -> Bool {
        do throws(ExperimentationError) { try check(event) } catch { return error.code != .unsupported }
        return true
    }
}
