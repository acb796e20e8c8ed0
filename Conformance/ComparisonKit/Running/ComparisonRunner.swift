import ConformanceKit
import Experimentation

/// Runs a scenario with several vendors and collects the results.
public struct ComparisonRunner: Sendable {
    /// Whether vendors run concurrently while they are measured.
    public enum Pace: Sendable {
        /// One vendor after another, so that latencies are comparable.
        case oneAfterAnother
        /// All concurrently, if latencies don't matter.
        case together
    }

    /// The number of rounds with each vendor; latencies cover all rounds.
    public var rounds: Int
    /// Whether vendors run concurrently.
    public var pace: Pace
    /// The time limit of a step; the run of a vendor that exceeds it ends there, and the others continue.
    public var stepLimit: Duration

    /// The simulated round trip to each vendor; zero for none.
    public var roundTrip: Duration = .zero
    /// Whether traffic is also measured at several sizes.
    public var measuresGrowth = false
    /// A month whose cost is also reported, if any.
    public var usage: Usage?

    /// Creates a runner.
    ///
    /// - Parameters:
    ///   - rounds: The number of rounds with each vendor; at least one.
    ///   - pace: Whether vendors run concurrently.
    ///   - stepLimit: The time limit of a step, in real time.
    public init(rounds: Int = 1, pace: Pace = .oneAfterAnother, stepLimit: Duration = .seconds(15)) {
        self.rounds = max(1, rounds)
        self.pace = pace
        self.stepLimit = stepLimit
    }

    /// The progress of a run.
    public struct Progress: Sendable, Hashable {
        /// The vendor.
        public var vendor: String
        /// The round, counting from 1.
        public var round: Int
        /// The step that begins, counting from 1.
        public var step: Int
        /// The number of steps.
        public var steps: Int
    }

    /// Runs the scenario.
    ///
    /// Always ends with a story for each vendor: for one that can't be opened, hangs or breaks, ``VendorStory/failure``
    /// has the reason.
    ///
    /// - Parameters:
    ///   - scenario: The scenario.
    ///   - subjects: The vendors, in the order of the report.
    ///   - progress: Called as each step begins.
    /// - Returns: The stories, in the vendors' order.
    public func run(
        _ scenario: Scenario,
        with subjects: [any ConformanceSubject],
        progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) async -> Comparison {
        let steps = scenario.steps.enumerated().map { index, step in
            Comparison.StepName(number: index + 1, title: step.title, action: step.action.key)
        }
        var stories: [VendorStory] = []
        switch pace {
        case .oneAfterAnother:
            for subject in subjects { stories.append(await story(of: scenario, subject, progress)) }
        case .together:
            let found = await withTaskGroup(of: (Int, VendorStory).self) { group in
                for (index, subject) in subjects.enumerated() {
                    group.addTask { (index, await story(of: scenario, subject, progress)) }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            stories = subjects.indices.compactMap { found[$0] }
        }
        var comparison = Comparison(
            scenario: scenario.name,
            title: scenario.title,
            summary: scenario.summary,
            rounds: rounds,
            steps: steps,
            vendors: stories
        )
        comparison.usage = usage
        if stories.contains(where: { $0.outcomes.contains { $0.latency != nil } }) {
            comparison.timing = Timing(rounds: rounds, roundTripMilliseconds: roundTrip / .milliseconds(1))
        }
        return comparison
    }

    private func story(
        of scenario: Scenario,
        _ subject: any ConformanceSubject,
        _ progress: @escaping @Sendable (Progress) -> Void
    ) async -> VendorStory {
        var first: VendorStory?
        var measured: [Int: [Duration]] = [:]
        var isNetworked = true
        for round in 1...rounds {
            let performance = await perform(scenario, subject) { step in
                progress(Progress(vendor: subject.name, round: round, step: step, steps: scenario.steps.count))
            }
            isNetworked = isNetworked && performance.isNetworked
            for (step, duration) in performance.durations { measured[step, default: []].append(duration) }
            if first == nil { first = performance.story }
            if let failure = performance.story.failure {
                if first?.failure == nil { first?.failure = "in round \(round): \(failure)" }
                break
            }
        }
        var story = first ?? VendorStory(name: subject.name)
        await playTrials(of: subject, in: scenario.world, &story)
        for index in story.outcomes.indices where story.outcomes[index].kind != .unsupported {
            // A round trip can't be simulated for a vendor without a wire.
            if roundTrip > .zero, !isNetworked, story.outcomes[index].traffic.requests > 0 { continue }
            story.outcomes[index].latency = Latency(of: measured[story.outcomes[index].step] ?? [])
        }
        return story
    }

    /// Runs the measurements beside the scenario, each on a stage of its own.
    private func playTrials(of subject: any ConformanceSubject, in world: World, _ story: inout VendorStory) async {
        if subject.capabilities.contains(.tracking) {
            let trial = FidelityTrial(subject: subject, world: world)
            story.fidelity = await result(of: "what reaches the wire", &story) { try await trial.play() } ?? []
        }
        if measuresGrowth {
            let trial = GrowthTrial(subject: subject)
            story.growth = await result(of: "growth", &story) { try await trial.play() }
        }
        if let usage {
            let trial = CostTrial(subject: subject, world: world, usage: usage)
            story.monthly = await result(of: "a month's cost", &story) { try await trial.play() } ?? nil
        }
    }

    /// Plays a trial, unless something failed before.
    ///
    /// - Returns: Its result; `nil` if it doesn't end in time or its mock doesn't work, and then the story says so.
    private func result<Result: Sendable>(
        of trial: String,
        _ story: inout VendorStory,
        _ play: @escaping @Sendable () async throws -> Result
    ) async -> Result? {
        guard story.failure == nil else { return nil }
        do {
            return try await Bounded.run(for: stepLimit * 4, play)
        } catch {
            story.failure = "the trial of \(trial): \(error)"
            return nil
        }
    }

    private func perform(
        _ scenario: Scenario,
        _ subject: any ConformanceSubject,
        _ progress: @escaping @Sendable (Int) -> Void
    ) async -> (story: VendorStory, durations: [Int: Duration], isNetworked: Bool) {
        var story = VendorStory(
            name: subject.name,
            capabilities: Capability.all.filter { subject.capabilities.contains($0) },
            evidence: subject.evidence,
            reasons: Dictionary(
                subject.reasons.map { ($0.key.rawValue, $0.value) },
                uniquingKeysWith: { one, _ in one }
            ),
            deviations: subject.knownDeviations
        )
        let stage: any SubjectStage
        do {
            stage = try await Bounded.run(for: stepLimit) { try await subject.open(scenario.world) }
        } catch {
            story.failure = "it can't be opened: \(error)"
            return (story, [:], false)
        }
        let isNetworked = roundTrip > .zero ? await stage.setRoundTrip(roundTrip) : true
        story.gaps = await stage.gaps
        do {
            story = try await Bounded.run(for: stepLimit) { [story] in await Self.notingRefusals(of: stage, in: story) }
        } catch {
            story.failure = "its provider doesn't start: \(error)"
            await close(stage)
            return (story, [:], isNetworked)
        }
        let performance = Performance(
            subject: subject,
            stage: stage,
            world: scenario.world,
            gaps: story.gaps,
            roundTrip: roundTrip
        )
        var durations: [Int: Duration] = [:]
        for (index, step) in scenario.steps.enumerated() {
            let number = index + 1
            progress(number)
            do {
                let more = Performance.each * (step.action.events + (await performance.pending))
                let result = try await Bounded.run(for: stepLimit + more, while: { performance.progress }) {
                    try await performance.play(step, number: number)
                }
                story.outcomes.append(result.outcome)
                durations[number] = result.duration
            } catch {
                story.failure = "step \(number) (\(step.title)): \(error)"
                story.outcomes.append(StepOutcome(step: number, kind: .broken, note: "\(error)"))
                break
            }
        }
        story.killSwitchSeconds = Self.secondsToNotice(scenario, story.outcomes)
        await performance.conclude(&story)
        await close(stage)
        return (story, durations, isNetworked)
    }

    /// Returns a story with the events that the vendor's provider refuses; starts the provider for that question alone.
    private static func notingRefusals(of stage: any SubjectStage, in story: VendorStory) async -> VendorStory {
        guard let provider = try? await stage.makeProvider() else { return story }
        var story = story
        let roles = try? await provider.start(in: ProviderContext())
        story.noteRefusals(by: roles?.events)
        await roles?.stop(.now)
        return story
    }

    private func close(_ stage: any SubjectStage) async {
        _ = try? await Bounded.run(for: .seconds(3)) { await stage.close() }
    }

    /// The scenario time between turning the kill switch on and the first sign that it was noticed.
    private static func secondsToNotice(_ scenario: Scenario, _ outcomes: [StepOutcome]) -> Int? {
        var passed: Int?
        for outcome in outcomes {
            switch scenario.steps[outcome.step - 1].action {
            case .killSwitch(let isOn) where outcome.kind == .done: passed = isOn ? 0 : nil
            case .wait(let seconds): passed = passed.map { $0 + seconds }
            default: break
            }
            if let passed, outcome.status == .disabled { return passed }
        }
        return nil
    }
}
