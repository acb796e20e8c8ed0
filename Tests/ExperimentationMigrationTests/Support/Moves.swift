import Experimentation
import ExperimentationTesting

@testable import ExperimentationMigration

/// Two in-memory vendors that split the same experiments differently, and a client that moves between them.
struct Moves {
    let old: InMemoryProvider
    let new: InMemoryProvider
    let store: ClientStore
    let time: ManualTime
    var plan: MigrationPlan

    init(
        experiments: Int = 1,
        canBeTold: Bool = true,
        oldCanBeTold: Bool? = nil,
        needsConsent: Bool = false,
        batching: BatchPolicy = BatchPolicy(count: 1, interval: .zero)
    ) {
        old = Self.vendor(
            "old",
            experiments,
            isTurned: false,
            canBeTold: oldCanBeTold ?? canBeTold,
            needsConsent,
            batching
        )
        new = Self.vendor("new", experiments, isTurned: true, canBeTold: canBeTold, needsConsent, batching)
        store = .inMemory()
        time = ManualTime()
        plan = MigrationPlan(mapping: Self.mapping(experiments))
        plan.shadow.moment = .zero
        plan.shadow.isInBackground = false
    }

    static func mapping(_ count: Int) -> Mapping {
        Mapping(
            (0..<count).map { index in
                ExperimentMapping(
                    old: .init("e\(index)"),
                    new: .init("x\(index)"),
                    variations: ["a": "A", "b": "B"],
                    weights: ["a": 50, "b": 50]
                )
            }
        )
    }

    /// Creates a vendor; with `isTurned`, it has different ids and assigns each user the opposite variation.
    static func vendor(
        _ name: String,
        _ count: Int,
        isTurned: Bool,
        canBeTold: Bool,
        _ needsConsent: Bool,
        _ batching: BatchPolicy = BatchPolicy(count: 1, interval: .zero)
    ) -> InMemoryProvider {
        let experiments = (0..<count).map { index in
            let arms: [InMemoryExperiment.Arm] = [
                .init(Variation(id: isTurned ? "A" : "a", isControl: true), weight: 50, flags: ["f\(index)": "grey"]),
                .init(Variation(id: isTurned ? "B" : "b"), weight: 50, flags: ["f\(index)": "green"]),
            ]
            return InMemoryExperiment(
                Experiment(id: isTurned ? "x\(index)" : "e\(index)"),
                arms: isTurned ? arms.reversed() : arms
            )
        }
        var capabilities = Set(Capability.all)
        if !canBeTold { capabilities.subtract([.stickyAssignments, .overrides]) }
        return InMemoryProvider(
            name: name,
            flags: [InMemoryFlag("plain", "same")],
            experiments: experiments,
            batching: batching,
            needsConsent: needsConsent,
            capabilities: capabilities
        )
    }

    func client(_ change: (inout MigrationPlan) -> Void = { _ in }) async throws -> ExperimentationClient {
        var plan = plan
        change(&plan)
        return try await ExperimentationClient(
            provider: MigratingProvider(from: old, to: new, plan: plan),
            store: store,
            environment: ClientEnvironment(time: time)
        )
    }

    /// The value of the first experiment's flag for a user, after a refresh.
    static func color(_ id: String, anonymous: String? = nil, by client: ExperimentationClient) async throws -> String {
        let session = client.session(for: User(id: id, anonymousID: anonymous, consent: .granted))
        try await session.refresh()
        return session.string("f0", default: "none")
    }

    /// The side that answers a user, after a refresh.
    static func side(
        _ id: String,
        anonymous: String? = nil,
        by client: ExperimentationClient
    ) async throws -> MigrationSide? {
        let session = client.session(for: User(id: id, anonymousID: anonymous, consent: .granted))
        try await session.refresh()
        return session.assignments.first.flatMap(Migration.side)
    }

    /// The stage of the move in the store.
    func standing() async throws -> Standing? {
        let context = ProviderContext(of: old, in: store.state, ClientEnvironment())
        return try await StandingRecord(in: context.state, of: nil, log: ClientEnvironment().log).read()
    }

    static func migration(of client: ExperimentationClient) throws -> Migration {
        guard let migration = client.extras(as: Migration.self) else { throw Missing() }
        return migration
    }

    struct Missing: Error {}
}
