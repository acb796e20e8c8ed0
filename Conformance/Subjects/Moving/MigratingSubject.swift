import ConformanceKit
import Experimentation
import ExperimentationMigration

/// Two vendors with their mocks and a move at one of its stages: the suite sees what an application sees during a move.
///
/// It promises what the leader of that stage promises. In the live stage the new vendor answers every user of the
/// suite, and the old one is the shadow.
public struct MigratingSubject: ConformanceSubject {
    /// The old vendor.
    public let old: any ConformanceSubject
    /// The new vendor.
    public let new: any ConformanceSubject
    /// The stage of the move.
    public let stage: MigrationStage

    /// Creates a subject.
    public init(from old: any ConformanceSubject, to new: any ConformanceSubject, at stage: MigrationStage) {
        self.old = old
        self.new = new
        self.stage = stage
    }

    /// Both names and the stage, such as `flagship-bucketing>sigma@live`.
    public var name: String { "\(old.name)>\(new.name)@\(stage.rawValue)" }

    /// The vendor whose answers and exposures count.
    var leader: any ConformanceSubject { stage.leader == .old ? old : new }

    /// Whether the leader's events count; they do unless it takes none and both vendors are sent events.
    var isToldByLeader: Bool {
        leader.capabilities.contains(.tracking) || !(stage.sendsEvents(to: .old) && stage.sendsEvents(to: .new))
    }

    private var teller: any ConformanceSubject { isToldByLeader ? leader : stage.leader == .old ? new : old }

    /// The capabilities that follow from both vendors and the stage.
    public var capabilities: Set<Capability> {
        MigratingProvider.capabilities(at: stage, old: old.capabilities, new: new.capabilities)
    }

    /// Why the other capabilities are missing.
    public var reasons: [Capability: String] {
        var reasons = stage.leader == nil ? old.reasons.merging(new.reasons) { "\($0); \($1)" } : leader.reasons
        if stage.leader == nil {
            reasons[.killSwitch] =
                "while users are of both vendors, a switch turns only those off whom its vendor leads"
        }
        return reasons
    }

    /// The capabilities that only the other vendor has, or that each has only on its own.
    public var capabilitiesOfOthers: Set<Capability> {
        old.capabilities.union(new.capabilities).subtracting(capabilities)
    }

    /// The fields carried by the wire of the vendor whose events count.
    public var wireFields: Set<Received.Field> { teller.wireFields }

    /// Why the other fields aren't carried.
    public var wireReasons: [Received.Field: String] { teller.wireReasons }

    /// The event types that the wire of the vendor whose events count can't distinguish.
    public var wireTypes: [String: String] { teller.wireTypes }

    /// How the leader's declarations are known.
    public var evidence: Evidence { leader.evidence }

    /// The leader's known deviations, and those about events of the other vendor if its events count.
    public var knownDeviations: [KnownDeviation] {
        leader.knownDeviations
            + (isToldByLeader ? [] : teller.knownDeviations.filter { $0.caseName.hasPrefix("outages/not-delivered") })
            + (leader.capabilities.contains(.localEvaluation) ? [Self.sameRules] : [])
    }

    private static let sameRules = KnownDeviation(
        "consent/nothing-kept-of-who-denies",
        reason: "the leader's rules of an earlier run decide, which are the same for everybody"
    )

    /// The caveat about the leader's variations.
    public var variationCaveat: String? { leader.variationCaveat }

    /// Users move here.
    public var isMoving: Bool { true }

    /// Opens both vendors with the same world.
    public func open(_ world: World) async throws -> any SubjectStage {
        let first = try await old.open(world)
        do {
            return MigratingStage(self, old: first, new: try await new.open(world), world)
        } catch {
            await first.close()
            throw error
        }
    }
}
