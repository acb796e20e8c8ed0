import ConformanceKit
import Experimentation
import ExperimentationComposition

/// Several vendors with their mocks as one subject: the suite and the comparison test what the composition promises.
///
/// Where several parts take events, a case watches one of them, the ``witness``: what arrives there, its ledger, its
/// exchanges and its faults. The others continue meanwhile.
public struct ComposedSubject: ConformanceSubject {
    /// A vendor, under the name that the routing tables use.
    public struct Part: Sendable {
        /// The name.
        public let name: String
        /// The vendor with its mock.
        public let subject: any ConformanceSubject

        /// Creates a part.
        public init(_ name: String, _ subject: any ConformanceSubject) {
            self.name = name
            self.subject = subject
        }
    }

    /// The subject's name; a witness's name follows an `@`.
    public let name: String
    /// The parts, in the order in which they are asked.
    public let parts: [Part]
    /// The name of the part whose events the suite watches; `nil` for all that take events.
    public let witness: String?
    let decisions: DecisionTable
    let events: EventTable
    let exposures: ExposureEvent

    /// Creates a subject.
    ///
    /// - Parameters:
    ///   - name: The subject's name.
    ///   - parts: The vendors.
    ///   - decisions: Which vendor decides what.
    ///   - events: Which events go where.
    ///   - exposures: How exposures are reported to a vendor without experiments.
    ///   - witness: The name of the part whose events the suite watches; `nil` for all that take events.
    public init(
        _ name: String,
        of parts: [Part],
        decisions: DecisionTable = DecisionTable(),
        events: EventTable = EventTable(),
        exposures: ExposureEvent = ExposureEvent(),
        witness: String? = nil
    ) {
        self.name = witness.map { "\(name)@\($0)" } ?? name
        self.parts = parts
        self.decisions = decisions
        self.events = events
        self.exposures = exposures
        self.witness = witness
    }

    /// The parts that decide.
    var deciding: [Part] {
        let named = decisions.others.map { Set($0 + decisions.rows.flatMap(\.vendors)) }
        return parts.filter { $0.subject.capabilities.contains(.flags) && (named?.contains($0.name) ?? true) }
    }

    /// The parts whose events are watched.
    var taking: [Part] {
        parts.filter { $0.subject.capabilities.contains(.tracking) && $0.name == witness ?? $0.name }
    }

    /// The parts that link users.
    var linking: [Part] { parts.filter { $0.subject.capabilities.contains(.identityLinking) } }

    private var wholeCapabilities: Set<Capability> {
        Capability.composed(deciding: deciding.map(\.subject.capabilities), all: parts.map(\.subject.capabilities))
    }

    /// The capabilities that follow from the parts; those about events are the witness's.
    public var capabilities: Set<Capability> { wholeCapabilities.subtracting(capabilitiesOfOthers) }

    /// `true`: it combines several vendors.
    public var isComposed: Bool { true }

    /// Capabilities about events that only parts other than the witness have, and capabilities about decisions that
    /// only some deciding parts have.
    public var capabilitiesOfOthers: Set<Capability> {
        let whole = wholeCapabilities
        let ofSome = Set(deciding.map(\.subject.capabilities).joined()).subtracting(whole)
        guard let own = taking.first?.subject.capabilities, witness != nil else { return ofSome }
        return whole.intersection(Capability.ofEvents).subtracting(own).union(ofSome)
    }

    /// Why the other capabilities are missing, from any part.
    public var reasons: [Capability: String] {
        parts.reduce(into: [:]) { $0.merge($1.subject.reasons) { $0 == $1 ? $0 : "\($0); \($1)" } }
    }

    /// The fields carried by the wires of all parts that are watched, and the fields of exposures, which may be part of
    /// a name.
    public var wireFields: Set<Received.Field> {
        let told = taking.map(\.subject.wireFields)
        let common = told.dropFirst().reduce(told.first ?? []) { $0.intersection($1) }
        return capabilities.contains(.exposures) ? common.union([.experiment]) : common
    }

    /// Why the other fields aren't carried.
    public var wireReasons: [Received.Field: String] {
        taking.reduce(into: [:]) { $0.merge($1.subject.wireReasons) { one, _ in one } }
    }

    /// The event types that the wires of the watched parts can't distinguish.
    public var wireTypes: [String: String] {
        taking.reduce(into: [:]) { $0.merge($1.subject.wireTypes) { one, _ in one } }
    }

    /// Why a fault can't occur at the parts that are watched.
    public func reason(forImpossible fault: WorldFault) -> String? {
        if fault.operation == .decisions { return nil }
        return taking.lazy.compactMap { $0.subject.reason(forImpossible: fault) }.first
    }

    /// The known deviations of the parts, as far as they affect what each does here: deciding, or taking events that
    /// are watched.
    public var knownDeviations: [KnownDeviation] {
        let (deciding, watched) = (Set(deciding.map(\.name)), Set(taking.map(\.name)))
        var known = parts.flatMap { part in
            let decidesExperiments = deciding.contains(part.name) && !world(of: part, in: .shop).experiments.isEmpty
            return part.subject.knownDeviations.filter { known in
                if known.isAboutEvents { return watched.contains(part.name) }
                if known.caseName.hasPrefix("experiments/") { return decidesExperiments }
                return deciding.contains(part.name)
            }
        }
        if capabilities.contains(.killSwitch),
            taking.contains(where: { !$0.subject.capabilities.contains(.killSwitch) })
        {
            known.append(
                KnownDeviation(
                    "kill-switch/stops-delivery",
                    reason: "a kill switch stops the deliveries to its own vendor; other destinations go on"
                )
            )
        }
        return known
    }

    /// The evidence for each part.
    public var evidence: Evidence {
        parts.map(\.subject.evidence).reduce(into: Evidence()) { whole, own in
            whole.capabilities.merge(own.capabilities) { one, other in
                [one, other].contains(.inferred) ? .inferred : one
            }
            whole.rules += own.rules
            whole.fixtures += own.fixtures
        }
    }

    /// Opens every vendor with the part of the world that it decides.
    public func open(_ world: World) async throws -> any SubjectStage {
        var stages: [any SubjectStage] = []
        do {
            for part in parts { stages.append(try await part.subject.open(self.world(of: part, in: world))) }
        } catch {
            for stage in stages { await stage.close() }
            throw error
        }
        return ComposedStage(self, stages, world)
    }
}

extension Capability {
    /// Capabilities about a destination's events; the others belong to the deciding parts, or to any part with them.
    fileprivate static let ofEvents: Set<Capability> = [
        .tracking, .exposures, .commerce, .batching, .eventIDs, .consentSignal, .campaigns,
    ]
}

extension KnownDeviation {
    /// Whether it deviates in taking events.
    fileprivate var isAboutEvents: Bool {
        ["outages/", "delivery/", "events/", "ledger/", "bounds/", "deadlines/", "campaigns/", "identity/"]
            .contains(where: caseName.hasPrefix)
    }
}
