import ConformanceKit
import Experimentation

/// An experiment that is running on the day of the switch.
public struct RunningExperiment: Sendable, Hashable {
    /// The display name.
    public var name: String
    /// What to do with it.
    public var advice: Agreement.Advice
    /// The reason.
    public var reason: String

    /// Creates an experiment.
    public init(name: String, advice: Agreement.Advice, reason: String) {
        self.name = name
        self.advice = advice
        self.reason = reason
    }
}

extension World {
    /// What happens to this world's running experiments when one vendor replaces another.
    ///
    /// - Parameters:
    ///   - before: The current vendor.
    ///   - after: The new vendor.
    /// - Returns: The experiments, those to finish first at the front; none if the current vendor has no experiments.
    public func runningExperiments(
        from before: any ConformanceSubject,
        to after: any ConformanceSubject
    ) async -> [RunningExperiment] {
        guard before.capabilities.contains(.experiments) else { return [] }
        guard after.capabilities.contains(.experiments) else {
            let reason = after.reasons[.experiments] ?? "\(after.name) has no experiments"
            return testedExperiments.map {
                RunningExperiment(name: $0.name, advice: .finishFirst, reason: reason)
            }
        }
        let found = try? await Bounded.run(for: .seconds(60)) {
            try await self.agreement(from: before, to: after).experiments
        }
        return (found ?? []).map { experiment in
            RunningExperiment(name: experiment.name, advice: experiment.advice, reason: experiment.reason)
        }
    }

    private func agreement(
        from before: any ConformanceSubject,
        to after: any ConformanceSubject
    ) async throws -> Agreement {
        let stages = [try await before.open(self), try await after.open(self)]
        var deciders: [Decider] = []
        for (stage, subject) in zip(stages, [before, after]) {
            deciders.append(
                try await Decider(
                    name: subject.name,
                    provider: stage.makeProvider(),
                    experiments: testedExperiments
                )
            )
        }
        let runner = AgreementRunner(from: deciders[0], to: deciders[1], at: ClientEnvironment().time.now)
        let population = Population(like: users)
        // Enough to detect a difference of a few percent.
        let count = await runner.count(0..<(runner.isAsking ? 300 : 5_000)) { .init(population[$0]) }
        for stage in stages { await stage.close() }
        return runner.agreement(of: count)
    }
}
