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
    ///   - limit: The time limit, in real time; after it, the answer is that it can't be told.
    /// - Returns: The experiments, those to finish first at the front, none if the current vendor has no experiments;
    ///   or why it can't be told.
    public func runningExperiments(
        from before: any ConformanceSubject,
        to after: any ConformanceSubject,
        within limit: Duration = .seconds(60)
    ) async -> Result<[RunningExperiment], any Error> {
        guard before.capabilities.contains(.experiments), !testedExperiments.isEmpty else { return .success([]) }
        guard after.capabilities.contains(.experiments) else {
            let reason = after.reasons[.experiments] ?? "\(after.name) has no experiments"
            return .success(
                testedExperiments.map { RunningExperiment(name: $0.name, advice: .finishFirst, reason: reason) }
            )
        }
        do {
            let found = try await Bounded.run(for: limit) { try await self.agreement(from: before, to: after) }
            return .success(
                found.experiments.map { RunningExperiment(name: $0.name, advice: $0.advice, reason: $0.reason) }
            )
        } catch {
            return .failure(error)
        }
    }

    private func agreement(
        from before: any ConformanceSubject,
        to after: any ConformanceSubject
    ) async throws -> Agreement {
        var stages: [any SubjectStage] = []
        do {
            for subject in [before, after] { stages.append(try await subject.open(self)) }
            let agreement = try await agreement(of: stages, [before.name, after.name])
            for stage in stages { await stage.close() }
            return agreement
        } catch {
            for stage in stages { await stage.close() }
            throw error
        }
    }

    private func agreement(of stages: [any SubjectStage], _ names: [String]) async throws -> Agreement {
        var deciders: [Decider] = []
        for (stage, name) in zip(stages, names) {
            deciders.append(
                try await Decider(name: name, provider: stage.makeProvider(), experiments: testedExperiments)
            )
        }
        let runner = AgreementRunner(from: deciders[0], to: deciders[1], at: ClientEnvironment().time.now)
        let population = Population(like: users)
        // Enough to detect a difference of a few percent.
        let count = await runner.count(0..<(runner.isAsking ? 300 : 5_000)) { .init(population[$0]) }
        return runner.agreement(of: count)
    }
}
