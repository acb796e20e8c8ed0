import Experimentation

extension Migration {
    /// The current report.
    public var report: MigrationReport {
        let tally = tally.snapshot
        let (level, stageLevel) = (self.tally.level, self.tally.stageLevel)
        let visible = tally.confirmed.filter { $0.key.isVisible }.values.reduce(0, +)
        let undecided = tally.undecided.filter { $0.key.isVisible }.values.reduce(0, +)
        func ratios(_ counts: [String: Tally.ArmCount], _ level: Double) -> [String: MigrationReport.Ratio] {
            var ratios: [String: MigrationReport.Ratio] = [:]
            for (key, count) in counts {
                ratios[String(key.dropFirst(4))] = .init(count.test, arms: count.arms, level: level)
            }
            return ratios
        }
        return MigrationReport(
            stage: stage,
            share: share,
            held: held,
            pinned: tally.pinned,
            changed: tally.changed,
            compared: tally.compared,
            dropped: shadows.counts.dropped,
            observed: tally.observed,
            confirmed: tally.confirmed,
            undecided: tally.undecided,
            rate: MismatchRate(compared: tally.compared - undecided, mismatched: visible),
            recent: tally.recent,
            latencies: tally.latencies,
            exposures: tally.exposures,
            unsupported: tally.unsupported,
            sides: tally.sides.map { .init($0.test, arms: ["old", "new"], level: level) },
            allocations: ratios(tally.arms.allocations, level),
            exposed: ratios(tally.arms.exposed, level),
            stages: tally.armsByStage.mapValues {
                .init(allocations: ratios($0.allocations, stageLevel), exposed: ratios($0.exposed, stageLevel))
            }
        )
    }

    /// Returns the current report with the ledgers of a client's store.
    ///
    /// - Parameter client: The client that moves.
    /// - Returns: The report.
    /// - Throws: `ErrorCode.store`.
    public func report(of client: ExperimentationClient) async throws(ExperimentationError) -> MigrationReport {
        var report = report
        report.ledgers = try await client.ledgers()
        return report
    }

    /// The reports of ``reports()``, each with the ledgers of a client's store.
    ///
    /// - Parameter client: The client that moves.
    /// - Returns: The reports; without ledgers while the store can't be read.
    public func reports(
        of client: ExperimentationClient
    ) -> AsyncMapSequence<AsyncStream<MigrationReport>, MigrationReport> {
        reports().map { report in
            var report = report
            report.ledgers = (try? await client.ledgers()) ?? [:]
            return report
        }
    }
}
