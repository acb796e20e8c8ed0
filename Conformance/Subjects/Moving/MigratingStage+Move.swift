import ConformanceKit
import Experimentation
import ExperimentationMigration
import Synchronization

extension MigratingStage: SubjectMove {
    /// The move, for the cases about moves.
    var move: (any SubjectMove)? { self }

    var old: SubjectPart { part(.old) }
    var new: SubjectPart { part(.new) }

    private func part(_ side: MigrationSide) -> SubjectPart {
        let (world, accounts) = state.withLock { ($0.world, $0.accounts) }
        let stage = stage(side)
        let vendor = side == .old ? subject.old : subject.new
        return SubjectPart(vendor.name, vendor, stage, world: world, destination: accounts[side]) {
            try await stage.received()
        }
    }

    func follow(_ plan: MovePlan) { state.withLock { $0.plan = plan } }

    func move(
        _ client: ExperimentationClient,
        to stage: MoveStage,
        share: Double?
    ) async throws(ExperimentationError) {
        try await Self.migration(of: client).move(to: MigrationStage(stage), share: share)
    }

    func sight(of client: ExperimentationClient) throws -> MoveSight {
        let report = try Self.migration(of: client).report
        return MoveSight(
            stage: MoveStage(report.stage),
            share: report.share,
            compared: report.compared,
            dropped: report.dropped,
            changed: report.changed,
            mismatches: report.recent.filter(\.kind.isVisible).map { mismatch in
                MoveMismatch(
                    key: mismatch.key,
                    type: mismatch.type,
                    kind: mismatch.kind.rawValue,
                    leader: part(mismatch.leader).name,
                    old: MoveMismatch.Answer(mismatch.old),
                    new: MoveMismatch.Answer(mismatch.new),
                    user: mismatch.user
                )
            }
        )
    }

    func answerer(of assignment: Assignment) -> String? { Migration.side(of: assignment).map { part($0).name } }

    private static func migration(of client: ExperimentationClient) throws(ExperimentationError) -> Migration {
        guard let migration = client.extras(as: Migration.self) else {
            throw ExperimentationError(.general, "The client has no move.")
        }
        return migration
    }
}

extension MigrationStage {
    fileprivate init(_ stage: MoveStage) {
        self =
            switch stage {
            case .off: .off
            case .dualWrite: .dualWrite
            case .shadow: .shadow
            case .live: .live
            case .rampDown: .rampDown
            case .complete: .complete
            }
    }
}

extension MoveStage {
    fileprivate init(_ stage: MigrationStage) {
        self =
            switch stage {
            case .off: .off
            case .dualWrite: .dualWrite
            case .shadow: .shadow
            case .live: .live
            case .rampDown: .rampDown
            case .complete: .complete
            }
    }
}

extension MoveMismatch.Answer {
    fileprivate init(_ answer: Mismatch.Answer) {
        self.init(
            answer.resolution?.value,
            reason: answer.resolution?.reason,
            code: answer.code,
            latency: answer.latency,
            version: answer.version,
            age: answer.age
        )
    }
}

extension MigrationPlan {
    /// Creates the plan that a case has set, for both vendors with the same world.
    init(_ plan: MovePlan, for world: World) {
        self.init(
            stage: MigrationStage(plan.stage),
            share: plan.share,
            mapping: world.ownMapping.flawed(by: plan.flaw)
        )
        reassignment = plan.keepsVariations ? .refused : .accepted
        shadow = ShadowPolicy(
            workers: 1,
            waiting: plan.waitingShadows,
            deadline: plan.shadowDeadline,
            moment: .milliseconds(20),
            isInBackground: false
        )
    }
}

extension Mapping {
    /// The mapping with a fault in its first experiment.
    fileprivate func flawed(by flaw: MovePlan.Flaw?) -> Mapping {
        guard let flaw, var first = experiments.first else { return self }
        let ids = first.variations.keys.sorted()
        switch flaw {
        case .mappedTwice: for id in ids { first.variations[id] = ids[0] }
        case .unknownVariation: first.variations[ids[0]] = "nobody-knows-it"
        case .unmapped: first.variations[ids[0]] = nil
        }
        first.weights = [:]
        return Mapping([first] + experiments.dropFirst())
    }
}
