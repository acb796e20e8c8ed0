import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@testable import ExperimentationMigration

@Suite("A failing vendor of a move doesn't hinder the other")
struct EitherVendorTests {
    private static let away = ExperimentationError(.transport, "away")

    /// An in-memory vendor that forgets users in its own way, or doesn't start.
    private struct Peculiar: ExperimentationProvider {
        let vendor: InMemoryProvider
        var failure: ExperimentationError?
        var forget: @Sendable (String) async throws(ExperimentationError) -> Void = { _ in }
        var name: String { vendor.name }
        var scope: String { vendor.scope }
        var capabilities: Set<Capability> { vendor.capabilities }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            if let failure { throw failure }
            var roles = try await vendor.start(in: context)
            roles.forget = forget
            return roles
        }
    }

    @Test(
        "each vendor forgets a user who denies consent, even if the other one fails to; the error is reported",
        arguments: MigrationSide.allCases
    )
    func forgetting(failing: MigrationSide) async throws {
        let moves = Moves()
        let forgotten = Mutex<[String]>([])
        func vendor(_ vendor: InMemoryProvider, _ side: MigrationSide) -> Peculiar {
            Peculiar(vendor: vendor) { user throws(ExperimentationError) in
                if side == failing { throw Self.away }
                forgotten.withLock { $0.append("\(user) at \(side)") }
            }
        }
        let provider = MigratingProvider(
            from: vendor(moves.old, .old),
            to: vendor(moves.new, .new),
            plan: moves.plan
        )
        let roles = try await provider.start(in: ProviderContext())
        await #expect(throws: Self.away) { try await roles.forget("ada") }
        #expect(forgotten.withLock { $0 } == ["ada at \(failing == .old ? MigrationSide.new : .old)"])
        await roles.stop(ManualTime().instant)
    }

    @Test("both vendors are stopped if the plan is held at the start")
    func held() async throws {
        let moves = Moves()
        var plan = moves.plan
        (plan.stage, plan.share) = (.live, 0.5)
        let provider = MigratingProvider(from: moves.old, to: EventsOnly(moves.new), plan: plan)
        let error = await #expect(throws: ExperimentationError.self) {
            try await provider.start(in: ProviderContext())
        }
        #expect(error?.code == .configuration)
        #expect([moves.old, moves.new].map(\.record.isStopped) == [true, true])
    }

    @Test("the old vendor is stopped if the new one doesn't start")
    func startFails() async throws {
        let moves = Moves()
        let provider = MigratingProvider(
            from: moves.old,
            to: Peculiar(vendor: moves.new, failure: Self.away),
            plan: moves.plan
        )
        await #expect(throws: Self.away) { try await provider.start(in: ProviderContext()) }
        #expect(moves.old.record.isStopped)
    }

    @Test("a vendor that doesn't answer a survey is stopped")
    func survey() async throws {
        let vendor = Moves().old
        vendor.setFailure(Self.away)
        await #expect(throws: ExperimentationError.self) {
            try await VendorSurvey(of: vendor, asking: [User(id: "ada")])
        }
        #expect(vendor.record.isStopped)
    }

    @Test("a survey of a vendor whose kill switch is on says so, instead of finding nothing", arguments: [false, true])
    func disabled(isAsked: Bool) async throws {
        let vendor = Moves().old
        vendor.setDisabled(true)
        let provider: any ExperimentationProvider = isAsked ? Asked(vendor) : vendor
        let error = await #expect(throws: ExperimentationError.self) {
            try await VendorSurvey(of: provider, asking: [User(id: "ada")])
        }
        #expect(error?.code == .disabled)
        #expect(vendor.record.isStopped)
    }

    @Test(
        "a link begins at the vendor that leads, and goes on at the other once that is back",
        arguments: [MigrationStage.dualWrite, .shadow, .rampDown]
    )
    func linking(stage: MigrationStage) async throws {
        let moves = Moves()
        let client = try await moves.client { ($0.stage, $0.reassignment) = (stage, .accepted) }
        let (leader, other) = stage.leader == .old ? (moves.old, moves.new) : (moves.new, moves.old)
        let session = client.session(for: User(id: "visit", consent: .granted))
        let ada = Identity(id: "ada", isAuthenticated: true)
        other.setFailure(Self.away)
        await #expect(throws: Self.away) { try await session.link(to: ada) }
        #expect([leader, other].map(\.record.links.count) == [1, 0])
        other.setFailure(nil)
        try await session.link(to: ada)
        #expect([leader, other].map(\.record.links.count) == [1, 1])
        #expect(session.user.id == ada.id)
        await client.shutdown(within: .zero)
    }

    @Test("a link that an earlier version left half done goes on at the next vendor")
    func halfLinked() async throws {
        let moves = Moves()
        let client = try await moves.client { $0.stage = .dualWrite }
        let linker = try #require(MigratingLinker(try Moves.migration(of: client)))
        let (visit, ada) = (Identity(id: "visit"), Identity(id: "ada"))
        let next = try await linker.advance(LinkProgress(from: visit, to: ada, notes: [1]))
        #expect(next.isComplete)
        #expect([moves.old, moves.new].map(\.record.links.count) == [0, 1])
        await client.shutdown(within: .zero)
    }
}
