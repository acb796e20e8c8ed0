import ConformanceKit
import Experimentation
import ExperimentationMigration

/// Two vendors with their mocks, between which a move stands at one stage: the suite sees what an application sees meanwhile.
///
/// It promises what whoever leads there promises. While it is live every user of the suite is the new vendor's, and the old
/// one is asked in the shadow.
public struct MigratingSubject: ConformanceSubject {
    /// The vendor that is left.
    public let old: any ConformanceSubject
    /// The vendor that is moved to.
    public let new: any ConformanceSubject
    /// Where the move stands.
    public let stage: MigrationStage

    /// Creates a subject.
    public init(from old: any ConformanceSubject, to new: any ConformanceSubject, at stage: MigrationStage) {
        self.old = old
        self.new = new
        self.stage = stage
    }

    /// Both names and the stage, as `flagship-bucketing>sigma@live`.
    public var name: String { "\(old.name)>\(new.name)@\(stage.rawValue)" }

    /// The one whose answers and exposures are seen.
    var leader: any ConformanceSubject { stage.leader == .old ? old : new }

    /// The one whose word of events counts: the leader, unless it takes none and the other one is told as well.
    var isToldByLeader: Bool {
        leader.capabilities.contains(.tracking) || !(stage.sendsEvents(to: .old) && stage.sendsEvents(to: .new))
    }

    private var teller: any ConformanceSubject { isToldByLeader ? leader : stage.leader == .old ? new : old }

    /// What follows from both, by the stage.
    public var capabilities: Set<Capability> {
        MigratingProvider.capabilities(at: stage, old: old.capabilities, new: new.capabilities)
    }

    /// Why the rest isn't there.
    public var reasons: [Capability: String] {
        var reasons = stage.leader == nil ? old.reasons.merging(new.reasons) { "\($0); \($1)" } : leader.reasons
        if stage.leader == nil {
            reasons[.killSwitch] =
                "while users are of both vendors, a switch turns only those off whom its vendor leads"
        }
        return reasons
    }

    /// What only the other one can do, or either of them by itself.
    public var capabilitiesOfOthers: Set<Capability> {
        old.capabilities.union(new.capabilities).subtracting(capabilities)
    }

    /// What the wire of whoever takes events tells.
    public var wireFields: Set<Received.Field> { teller.wireFields }

    /// Why the rest isn't told.
    public var wireReasons: [Received.Field: String] { teller.wireReasons }

    /// What the wire of the vendor that takes events can't tell apart.
    public var wireTypes: [String: String] { teller.wireTypes }

    /// How the leader's claims are known.
    public var evidence: Evidence { leader.evidence }

    /// What is known of the leader, and of events where the other one takes them.
    public var knownDeviations: [KnownDeviation] {
        leader.knownDeviations
            + (isToldByLeader ? [] : teller.knownDeviations.filter { $0.caseName.hasPrefix("outages/not-delivered") })
    }

    /// What isn't sure about the leader's variations.
    public var variationCaveat: String? { leader.variationCaveat }

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
