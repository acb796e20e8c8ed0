import ConformanceKit
import Experimentation
import ExperimentationMigration
import Synchronization

/// The stages of two vendors with a move between them, observed from the leader's side: its exchanges and what it
/// accepted.
final class MigratingStage: SubjectStage {
    struct State {
        var world: World
        var teller: Destination?
        /// The accounts of the current client.
        var accounts: [MigrationSide: Destination] = [:]
        /// The plan that a case has set; `nil` for the suite's own.
        var plan: MovePlan?
    }

    let subject: MigratingSubject
    let state: Mutex<State>
    private let oldStage: any SubjectStage
    private let newStage: any SubjectStage

    init(_ subject: MigratingSubject, old: any SubjectStage, new: any SubjectStage, _ world: World) {
        self.subject = subject
        oldStage = old
        newStage = new
        state = Mutex(State(world: world))
    }

    private var leader: any SubjectStage { subject.stage.leader == .old ? oldStage : newStage }
    private var teller: any SubjectStage {
        if subject.isToldByLeader { return leader }
        return subject.stage.leader == .old ? newStage : oldStage
    }
    private var seen: [any SubjectStage] { subject.isToldByLeader ? [leader] : [leader, teller] }
    private var both: [any SubjectStage] { [oldStage, newStage] }
    func stage(_ side: MigrationSide) -> any SubjectStage { side == .old ? oldStage : newStage }
    /// Added to the exchange numbers of a vendor that only takes events.
    private static let further = 1_000_000

    /// The gaps of the vendors that may answer users.
    var gaps: [WorldGap] {
        get async {
            let gaps = await leader.gaps
            guard subject.stage.leader == nil else { return gaps }
            return gaps + (await oldStage.gaps)
        }
    }

    var secrets: [String] { both.flatMap(\.secrets) }

    var tellsOfChanges: Bool {
        get async throws {
            let roles = try await leader.makeProvider().start(in: ProviderContext())
            await roles.stop(.now)
            return roles.changes != nil
        }
    }

    var isHeard: Bool { get async throws { try await leader.isHeard } }

    func makeProvider() async throws -> any ExperimentationProvider {
        let (one, two) = (try await oldStage.makeProvider(), try await newStage.makeProvider())
        let (world, chosen) = state.withLock { state in
            let isOld = (subject.stage.leader == .old) == subject.isToldByLeader
            state.teller = isOld ? one.destination : two.destination
            state.accounts = [.old: one.destination, .new: two.destination]
            return (state.world, state.plan)
        }
        let plan = chosen.map { MigrationPlan($0, for: world) } ?? ownPlan(for: world)
        return MigratingProvider(from: one, to: two, plan: plan)
    }

    /// The plan for the cases about a single vendor.
    private func ownPlan(for world: World) -> MigrationPlan {
        var plan = MigrationPlan(stage: subject.stage, share: 1, mapping: world.ownMapping)
        // The suite tests one vendor's promises, regardless of which variation the other one had assigned.
        plan.reassignment = .accepted
        // A second look would be an additional request to the leader.
        plan.shadow.moment = .seconds(86_400)
        plan.shadow.isInBackground = false
        return plan
    }

    func change(to world: World) async throws {
        state.withLock { $0.world = world }
        for stage in both { try await stage.change(to: world) }
    }

    func inject(_ faults: [WorldFault]) async throws {
        for fault in faults {
            switch fault.operation {
            case .events, .exposures: try await teller.inject([fault])
            case .any: for stage in seen { try await stage.inject([fault]) }
            default: try await leader.inject([fault])
            }
        }
    }

    func clearFaults() async throws { for stage in both { try await stage.clearFaults() } }

    func setKillSwitch(_ isOn: Bool) async throws { try await leader.setKillSwitch(isOn) }

    func setReachable(_ isReachable: Bool) async throws {
        for stage in both { try await stage.setReachable(isReachable) }
    }

    func setRoundTrip(_ duration: Duration) async -> Bool {
        let (one, two) = (await oldStage.setRoundTrip(duration), await newStage.setRoundTrip(duration))
        return one && two
    }

    func received() async throws -> [Received] {
        let isLeader = subject.isToldByLeader
        return try await teller.received().map { received in
            var received = received
            if !isLeader { received.exchange += Self.further }
            return received
        }
    }

    func exchanges() async throws -> [Exchange] {
        if subject.isToldByLeader { return try await leader.exchanges() }
        return try await leader.exchanges()
            + teller.exchanges().filter { $0.purpose != .decisions }.map { exchange in
                var exchange = exchange
                exchange.number += Self.further
                return exchange
            }
    }

    func ledger(of client: ExperimentationClient) async throws -> Ledger {
        let ledgers = try await client.ledgers()
        return state.withLock { $0.teller }.flatMap { ledgers[$0] } ?? Ledger()
    }

    func close() async { for stage in both { await stage.close() } }
}
