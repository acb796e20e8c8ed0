import Experimentation
import ExperimentationMigration
import ExperimentationTesting
import Testing
import Waiting

@Suite("A move releases everything with its client")
struct LifetimeTests {
    /// Weak references to what should be released with a vendor.
    private struct Remains: Sendable {
        weak let provider: InMemoryProvider?
    }

    /// Plays a move with a mismatch whose second look is due a day later, and shuts the client down before.
    private func play() async throws -> [Remains] {
        let moves = Moves()
        let client = try await moves.client { plan in
            plan.stage = .shadow
            plan.reassignment = .accepted
            plan.shadow.moment = .seconds(86_400)
        }
        for number in 0..<8 { _ = try await Moves.color("user-\(number)", by: client) }
        let migration = try #require(client.extras(as: Migration.self))
        try await eventually("a comparison is under way") { migration.isComparing }
        await client.shutdown(within: .zero)
        try await eventually("no comparison is under way") { !migration.isComparing }
        return [Remains(provider: moves.old), Remains(provider: moves.new)]
    }

    @Test("a shutdown ends comparisons in progress and releases the vendors")
    func released() async throws {
        let remains = try await play()
        try await eventually("both vendors are released") { remains.allSatisfy { $0.provider == nil } }
    }
}
