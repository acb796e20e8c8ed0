import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@testable import ExperimentationMigration

@Suite("Changes that the vendors of a move announce")
struct ChangesOfMovesTests {
    /// Counts a vendor's listeners, and records the application's states that it is notified of.
    private final class Listeners: ChangeSource {
        let count = Mutex(0)
        let states = Mutex<[ApplicationState]>([])

        func notices() -> AsyncStream<ChangeNotice> {
            count.withLock { $0 += 1 }
            return AsyncStream { _ in }
        }

        func setApplicationState(_ applicationState: ApplicationState) {
            states.withLock { $0.append(applicationState) }
        }
    }

    private struct Announcing: ExperimentationProvider {
        let vendor: InMemoryProvider
        let listeners: Listeners
        var name: String { vendor.name }
        var scope: String { vendor.scope }
        var capabilities: Set<Capability> { vendor.capabilities }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            var roles = try await vendor.start(in: context)
            roles.changes = listeners
            return roles
        }
    }

    @Test("both vendors have a listener before either is asked")
    func bothAtOnce() async throws {
        let moves = Moves()
        let (old, new) = (Listeners(), Listeners())
        let client = try await ExperimentationClient(
            provider: MigratingProvider(
                from: Announcing(vendor: moves.old, listeners: old),
                to: Announcing(vendor: moves.new, listeners: new),
                plan: moves.plan
            ),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
        let changes = MigratingChanges(migration: try Moves.migration(of: client))
        let before = [old, new].map { $0.count.withLock { $0 } }
        let notices = changes.notices()
        #expect([old, new].map { $0.count.withLock { $0 } } == before.map { $0 + 1 })
        withExtendedLifetime(notices) {}
        await client.shutdown(within: .zero)
    }

    @Test("both vendors are notified when the application is in the background", arguments: MigrationStage.allCases)
    func applicationState(stage: MigrationStage) async throws {
        let moves = Moves()
        let (old, new) = (Listeners(), Listeners())
        var plan = moves.plan
        (plan.stage, plan.reassignment) = (stage, .accepted)
        let client = try await ExperimentationClient(
            provider: MigratingProvider(
                from: Announcing(vendor: moves.old, listeners: old),
                to: Announcing(vendor: moves.new, listeners: new),
                plan: plan
            ),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
        await client.setApplicationState(.background)
        await client.setApplicationState(.foreground)
        let told: [ApplicationState] = [.background, .foreground]
        #expect([old, new].map { $0.states.withLock { $0 } } == [told, told])
        await client.shutdown(within: .zero)
    }
}
