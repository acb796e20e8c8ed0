import Experimentation

/// A started vendor of a composition.
struct Part: Sendable {
    let name: String
    let destination: Destination
    let context: ProviderContext
    let roles: ProviderRoles
    let killSwitch: PartSwitch
    /// Whether it accepts exposures as such.
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

    /// Whether it can't use exposures of other vendors' experiments: it has its own, or accepts no exposures.
    var countsOnlyItsOwn: Bool { roles.decisions != nil || !takesExposures }

    /// Returns the context without earlier assignments or overrides that this vendor doesn't support.
    func context(_ context: EvaluationContext) -> EvaluationContext {
        let policy = roles.assignments
        return context.visible(overrides: policy.allowsOverrides, earlierAssignments: policy.isSticky)
    }

    /// The vendor's routes: its own sink, and further ones behind it.
    var routes: [EventRoute] {
        let own = roles.events.map { EventRoute(to: destination, by: $0, needsConsent: roles.needsConsent) }
        return (own.map { [$0] } ?? []) + roles.furtherRoutes
    }
}

/// The started vendors of a composition.
struct Parts: Sendable {
    let all: [Part]
    /// The deciding vendors, in the default order.
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

    /// Returns the vendors that decide a flag, as indexes into ``deciding``.
    func line(for key: String) -> [Int] {
        guard let names = table.vendors(for: key) else { return Array(deciding.indices) }
        return names.compactMap { name in deciding.firstIndex { $0.name == name } }
    }

    /// Whether the composition is disabled: all deciding vendors are or, without any, all that accept events.
    var areOff: Bool {
        let asked = deciding.isEmpty ? all.filter(\.roles.takesEvents) : deciding
        return !asked.isEmpty && asked.allSatisfy(\.killSwitch.isOn)
    }
}

extension EventSink {
    /// Whether the vendor accepts an event.
    func takes(_ event: TrackingEvent) -> Bool {
        do throws(ExperimentationError) { try check(event) } catch { return error.code != .unsupported }
        return true
    }
}
