import Experimentation
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import ExperimentationComposition

/// A composition of a vendor that is asked, whose answers a test scripts, and another one.
private struct Composition {
    /// A vendor whose answers a test scripts, the first of them once its gate is open.
    final class Scripted: DecisionSource {
        enum Saying { case value(FlagValue), failure }

        let gate = AsyncGate()
        private let answers: Mutex<[Saying]>
        private let asked = Mutex(0)
        var freshness: Freshness { Freshness() }

        init(_ answers: [Saying]) { self.answers = Mutex(answers) }

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            let number = asked.withLock { asked in
                defer { asked += 1 }
                return asked
            }
            if number == 0 { await gate.wait() }
            switch answers.withLock({ $0[number] }) {
            case .value(let value):
                return .decided(Decisions(flags: [(key: "flag", resolution: Resolution(value, reason: .static))]))
            case .failure: throw ExperimentationError(.transport, "away")
            }
        }
    }

    private let vendor: Scripted
    let roles: ProviderRoles
    private let context = EvaluationContext(user: User(id: "ada"), date: ManualTime().now)

    init(_ answers: [Scripted.Saying]) async throws {
        let vendor = Scripted(answers)
        let scripted = Vendors.deciding("scripted").changing { $0.decisions = .asked(vendor) }
        let provider = try ComposedProvider(of: [scripted, Vendors.deciding("other", ["own": 1])])
        roles = try await provider.start(in: ProviderContext(environment: ClientEnvironment(time: ManualTime())))
        self.vendor = vendor
    }

    /// Asks once for the scripted vendor's flag.
    func ask() async throws -> Resolution? {
        guard case .asked(let source) = roles.decisions,
            case .decided(let decisions) = try await source.decisions(for: context)
        else { return nil }
        return decisions["flag"]
    }

    /// Asks, and does something before the answer comes.
    func ask(meanwhile: () async throws -> Void) async throws {
        let first = Task { try await ask() }
        try await eventually("the first is waiting") { vendor.gate.waiting == 1 }
        try await meanwhile()
        vendor.gate.open()
        _ = try await first.value
    }
}

@Suite("Last good answers of vendors that are asked", .timeLimit(.minutes(10)))
struct LastGoodTests {
    @Test(
        "a late answer, even one without a vendor's part, doesn't replace answers that came meanwhile",
        arguments: [true, false]
    )
    func late(fails: Bool) async throws {
        let composition = try await Composition([fails ? .failure : .value(1), .value(2), .failure])
        try await composition.ask { _ = try await composition.ask() }
        let kept = try await composition.ask()
        #expect(kept?.value == 2 && kept?.reason == .stale)
    }

    @Test("an answer to a question from before the user was removed isn't remembered")
    func removed() async throws {
        let composition = try await Composition([.value(1), .failure])
        try await composition.ask { try await composition.roles.forget("ada") }
        #expect(try await composition.ask() == nil)
    }
}
