import ConformanceKit
import Experimentation
import ExperimentationComposition

/// Several vendors with their mocks as one subject: the suite and the comparison test what the composition promises.
public struct ComposedSubject: ConformanceSubject {
    /// A vendor, under the name that the routing tables use.
    public struct Part: Sendable {
        let name: String
        let subject: any ConformanceSubject

        /// Creates a part.
        public init(_ name: String, _ subject: any ConformanceSubject) {
            self.name = name
            self.subject = subject
        }
    }

    /// The subject's name.
    public let name: String
    let parts: [Part]
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
    public init(
        _ name: String,
        of parts: [Part],
        decisions: DecisionTable = DecisionTable(),
        events: EventTable = EventTable(),
        exposures: ExposureEvent = ExposureEvent()
    ) {
        self.name = name
        self.parts = parts
        self.decisions = decisions
        self.events = events
        self.exposures = exposures
    }

    /// Sigma decides, Evergage takes events; its actions only have names, so the name carries the exposure.
    public static let sigmaEvergage = ComposedSubject(
        "sigma+evergage",
        of: [Part("sigma", SigmaSubject()), Part("evergage", EvergageSubject())],
        exposures: ExposureEvent(name: "experiment_viewed {experiment} {variation}", fields: [:])
    )

    /// The parts that decide.
    var deciding: [Part] {
        let named = decisions.others.map { Set($0 + decisions.rows.flatMap(\.vendors)) }
        return parts.filter { $0.subject.capabilities.contains(.flags) && (named?.contains($0.name) ?? true) }
    }

    /// The parts that take events.
    var taking: [Part] { parts.filter { $0.subject.capabilities.contains(.tracking) } }

    /// The capabilities that follow from the parts.
    public var capabilities: Set<Capability> {
        Capability.composed(deciding: deciding.map(\.subject.capabilities), all: parts.map(\.subject.capabilities))
    }

    /// Why the other capabilities are missing, from any part.
    public var reasons: [Capability: String] {
        parts.reduce(into: [:]) { $0.merge($1.subject.reasons) { "\($0); \($1)" } }
    }

    /// The fields carried by the wires of all parts that take events, and those of exposures, which may be part of a
    /// name.
    public var wireFields: Set<Received.Field> {
        let told = taking.map(\.subject.wireFields)
        let common = told.dropFirst().reduce(told.first ?? []) { $0.intersection($1) }
        return capabilities.contains(.exposures) ? common.union([.experiment]) : common
    }

    /// Why the other fields aren't carried.
    public var wireReasons: [Received.Field: String] {
        taking.reduce(into: [:]) { $0.merge($1.subject.wireReasons) { one, _ in one } }
    }

    /// The known deviations of the parts.
    public var knownDeviations: [KnownDeviation] { parts.flatMap(\.subject.knownDeviations) }

    /// Opens every vendor with the same world.
    public func open(_ world: World) async throws -> any SubjectStage {
        var stages: [any SubjectStage] = []
        do {
            for part in parts { stages.append(try await part.subject.open(world)) }
        } catch {
            for stage in stages { await stage.close() }
            throw error
        }
        return ComposedStage(self, stages)
    }
}
