import Experimentation
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("A vendor that is asked for decisions only because of its kill switch")
struct AskedForTheSwitchTests {
    /// A vendor that is asked for each user, and notes the consent in each request.
    private final class Noting: ExperimentationProvider, DecisionSource {
        let vendor: InMemoryProvider
        let consents = Mutex<[Consent]>([])
        var name: String { vendor.name }
        var scope: String { vendor.scope }
        var capabilities: Set<Capability> { vendor.capabilities }
        let freshness = Freshness()

        init(_ vendor: InMemoryProvider) { self.vendor = vendor }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            var roles = try await vendor.start(in: context)
            roles.decisions = .asked(self)
            return roles
        }

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            consents.withLock { $0.append(context.user.consent) }
            return .decided(.none)
        }
    }

    @Test("is asked as for a user who denies consent, because it has nothing to store")
    func asDenied() async throws {
        let moves = Moves()
        let new = Noting(moves.new)
        var plan = moves.plan
        plan.stage = .dualWrite
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: new, plan: plan),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
        let migration = try Moves.migration(of: client)
        await migration.new.setOff(true)
        try await client.track(.custom("goal"), for: User(id: "ada", consent: .granted))
        try await eventually("it is asked") {
            moves.time.advance(by: .seconds(31))
            _ = try await client.flush(within: .seconds(5), retrying: false)
            return !migration.new.isOff
        }
        #expect(new.consents.withLock { $0 } == [.denied])
        await client.shutdown(within: .zero)
    }
}
