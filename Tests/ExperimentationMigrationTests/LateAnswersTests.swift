import Experimentation
import ExperimentationTesting
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("Answers of a vendor of a move that come late")
struct LateAnswersTests {
    /// A vendor that is asked for each user: it lets one user wait, and is off for all others.
    private struct Vendor: ExperimentationProvider, DecisionSource {
        let gate = AsyncGate()
        var name: String { "vendor" }
        var scope: String { "" }
        var capabilities: Set<Capability> { [.flags, .killSwitch] }
        var freshness: Freshness { Freshness() }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            ProviderRoles(decisions: .asked(self))
        }

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            guard context.user.id == "slow" else { return .disabled }
            await gate.wait()
            return .decided(.none)
        }
    }

    @Test("an answer to a request from before the kill switch was turned on doesn't turn it off")
    func beforeTheSwitch() async throws {
        let vendor = Vendor()
        let party = try await Party(vendor, .old, in: ProviderContext())
        func ask(_ id: String) async throws -> Party.Answer? {
            try await party.answer(for: EvaluationContext(user: User(id: id), date: SystemTime().now))
        }
        async let late = ask("slow")
        try await eventually("the slow user's question") { vendor.gate.waiting == 1 }
        #expect(try await ask("quick") == nil)
        vendor.gate.open()
        #expect(try await late != nil)
        #expect(party.isOff)
    }
}
