import ConformanceKit
import Experimentation

/// Shows the experiments of a world to users while a fault occurs, and counts the exposures that arrive at the vendor.
public struct ExposureTrial: Sendable {
    /// The vendor.
    public let subject: any ConformanceSubject
    /// The vendor's world.
    public let world: World
    /// The number of users.
    public let users: Int
    /// The time limit of a profile, in real time; exceeding it is reported in the result.
    public var limit = Duration.seconds(120)

    /// Creates a trial.
    public init(of subject: any ConformanceSubject, in world: World, users: Int) {
        self.subject = subject
        self.world = world
        self.users = users
    }

    /// Runs a profile.
    ///
    /// - Returns: A result for each experiment; problems are reported there rather than thrown.
    public func play(_ profile: FaultProfile) async -> [ExposureRatio] {
        let experiments = world.testedExperiments
        if experiments.isEmpty { return [] }
        func failed(_ problem: String) -> [ExposureRatio] {
            experiments.map {
                ExposureRatio(vendor: subject.name, profile: profile, experiment: $0.id, problem: problem)
            }
        }
        for capability in [Capability.experiments, .exposures] where !subject.capabilities.contains(capability) {
            return failed(subject.reasons[capability] ?? "\(subject.name) has no \(capability.rawValue)")
        }
        do {
            return try await Bounded.run(for: limit) { try await run(profile, experiments) }
        } catch {
            return failed("\(error)")
        }
    }

    private func run(_ profile: FaultProfile, _ experiments: [TestedExperiment]) async throws -> [ExposureRatio] {
        let stage = try await subject.open(world)
        defer { Task { await stage.close() } }
        let visit = Visit(stage: stage, experiments: experiments, population: Population(like: world.users))
        var client = try await visit.client()
        if profile == .absence || profile == .restart {
            // Decisions are fetched before the vendor becomes unreachable: they aren't under test.
            try await visit.come(0..<users, to: client, until: { try await stage.setReachable(false) })
        } else {
            try await stage.inject(profile.faults)
            try await visit.come(0..<users, to: client)
        }
        if profile == .restart {
            // Flushes pending notes to the store, because a kill within the same millisecond isn't under test.
            _ = try await client.ledger()
            await client.shutdown(within: .zero)
            client = try await visit.client()
        }
        try await stage.setReachable(true)
        try await visit.deliver(client)
        let received = try await stage.received()
        await client.shutdown(within: .milliseconds(200))
        let seen = await visit.counts
        return experiments.indices.map { result(profile, experiments[$0], seen[$0], received) }
    }

    private func result(
        _ profile: FaultProfile,
        _ experiment: TestedExperiment,
        _ seen: [Int],
        _ received: [Received]
    ) -> ExposureRatio {
        var users = [Set<String>](repeating: [], count: experiment.variations.count)
        var repeated = 0
        for record in received where record.type == "exposure" && record.experiment == experiment.id {
            guard let variation = experiment.variations.firstIndex(where: { $0.id == record.variation }) else {
                continue
            }
            let user = record.userID ?? record.anonymousID ?? ""
            if !users[variation].insert(user).inserted { repeated += 1 }
        }
        let arrived = users.map(\.count)
        let weights = experiment.variations.map(\.weight)
        return ExposureRatio(
            vendor: subject.name,
            profile: profile,
            experiment: experiment.id,
            variations: experiment.variations.map(\.name),
            seen: seen,
            arrived: arrived,
            repeated: repeated,
            ratio: RatioTest(observed: arrived, weights: weights),
            isTooFew: arrived.contains { $0 > 0 } && RatioTest.isTooFew(observed: arrived, weights: weights)
        )
    }
}

/// The users of a profile, one after another on the store of one device.
private actor Visit {
    private let stage: any SubjectStage
    private let experiments: [TestedExperiment]
    private let population: Population
    private let time = SuiteTime()
    private let store = ClientStore.inMemory()
    /// The number of users who saw each variation, by experiment.
    private(set) var counts: [[Int]]

    init(stage: any SubjectStage, experiments: [TestedExperiment], population: Population) {
        self.stage = stage
        self.experiments = experiments
        self.population = population
        counts = experiments.map { Array(repeating: 0, count: $0.variations.count) }
    }

    func client() async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: stage.makeProvider(),
            store: store,
            environment: ClientEnvironment(time: time, jitter: { 0.5 })
        )
    }

    /// Lets users arrive and see their variations; `turn` runs after the decisions and before the exposures.
    func come(
        _ range: Range<Int>,
        to client: ExperimentationClient,
        until turn: (() async throws -> Void)? = nil
    ) async throws {
        var sessions: [UserSession] = []
        for number in range {
            let session = client.session(for: population[number])
            try await session.refresh()
            if turn == nil { try see(session) } else { sessions.append(session) }
        }
        try await turn?()
        for session in sessions { try see(session) }
    }

    private func see(_ session: UserSession) throws {
        for place in session.assignments {
            for (index, experiment) in experiments.enumerated() {
                guard let variation = experiment.variation(of: place) else { continue }
                try session.expose(place.experiment.id)
                counts[index][variation] += 1
            }
        }
    }

    /// Delivers until nothing waits, through any pauses that the vendor asks for.
    func deliver(_ client: ExperimentationClient) async throws {
        for _ in 0..<20 {
            try await client.flush(within: .seconds(30), retrying: false)
            if try await client.ledger().pending == 0 { return }
            time.push(by: .seconds(600))
        }
    }
}
