import Experimentation
import ExperimentationMigration
import ExperimentationTesting
import Testing

@Suite("The end of a move", .timeLimit(.minutes(1)))
struct StoppedMovesTests {
    /// A vendor that does something as it stops.
    private struct Stopping: ExperimentationProvider {
        let vendor: InMemoryProvider
        let stop: @Sendable () async -> Void
        var name: String { vendor.name }
        var scope: String { vendor.scope }
        var capabilities: Set<Capability> { vendor.capabilities }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            var roles = try await vendor.start(in: context)
            roles.stop = { [stop] _ in await stop() }
            return roles
        }
    }

    @Test("a vendor that stops slowly doesn't use up the other one's time to stop")
    func together() async throws {
        let moves = Moves()
        let hasBegun = AsyncGate()
        let provider = MigratingProvider(
            from: Stopping(vendor: moves.old) { await hasBegun.wait() },
            to: Stopping(vendor: moves.new) { hasBegun.open() },
            plan: moves.plan
        )
        let client = try await ExperimentationClient(provider: provider, store: moves.store)
        await client.shutdown(within: .zero)
    }
}
