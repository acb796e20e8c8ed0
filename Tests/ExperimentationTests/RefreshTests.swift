import ExperimentationTesting
import Testing
import Waiting

@testable import Experimentation

@Suite("Refreshing", .timeLimit(.minutes(1)))
struct RefreshTests {
    @Test("P30 a failed refresh keeps the last good values, as stale, with their age")
    func stale() async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)])
        let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(time: time))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        provider.setFailure(ExperimentationError(.transport, "gone"))
        time.advance(by: .seconds(30))
        await #expect(throws: ExperimentationError(.transport, "gone")) { try await session.refresh(force: true) }
        let details = session.details("a", default: false)
        #expect(details.value)
        #expect(details.reason == .stale)
        #expect(details.age == .seconds(30))
        #expect(client.status == .stale)
        provider.setFailure(nil)
        try await session.refresh(force: true)
        #expect(session.details("a", default: false).reason == .static)
        #expect(client.status == .ready)
    }

    @Test(
        "overdue decisions are stale or missing, depending on the policy",
        arguments: [
            (Freshness.AfterExpiry.stale, Reason.stale, true), (.notReady, .error, false),
        ]
    )
    func overdue(policy: Freshness.AfterExpiry, reason: Reason, value: Bool) async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(
            flags: [InMemoryFlag("a", true)],
            freshness: Freshness(lifetime: .seconds(10), afterExpiry: policy)
        )
        let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(time: time))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        time.advance(by: .seconds(10))
        #expect(session.details("a", default: false).reason == .static)
        try await session.refresh()
        #expect(provider.record.fetches == 1)
        time.advance(by: .milliseconds(1))
        #expect(session.details("a", default: false).reason == reason)
        #expect(session.bool("a", default: false) == value)
        try await session.refresh()
        #expect(provider.record.fetches == 2)
        #expect(session.details("a", default: false).reason == .static)
    }

    @Test("P32 a thousand concurrent refreshes are one request")
    func coalesced() async throws {
        let source = GatedSource()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: User(id: "ada"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1_000 { group.addTask { try await session.refresh() } }
            try await eventually("a thousand callers") { client.core.decisionFlights.callers >= 1_000 }
            source.open()
            try await group.waitForAll()
        }
        #expect(source.requests == 1)
        #expect(session.bool("a", default: false))
    }

    @Test("an answer for another user is never published")
    func mixed() async throws {
        let source = GatedSource()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: User(id: "ada"))
        async let refreshed: Void = session.refresh()
        await source.waitUntilAsked()
        session.identify(Identity(id: "bob"))
        source.open()
        try await refreshed
        #expect(session.string("user", default: "") == "bob")
    }

    @Test("a request for the former user that fails late leaves the new user's decisions fresh")
    func lateFailure() async throws {
        let source = SlowForAda()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: User(id: "ada"))
        let former = Task { try await session.refresh() }
        await source.isAsked.wait()
        session.identify(Identity(id: "bob"))
        try await session.refresh()
        source.mayFail.open()
        await #expect(throws: ExperimentationError(.transport, "gone")) { try await former.value }
        let details = session.details("user", default: "")
        #expect(details.value == "bob")
        #expect(details.reason != .stale && details.age == nil)
    }

    @Test("a vendor is asked again within the lifetime of its answer if the client's attributes have changed")
    func changedAmbience() async throws {
        let source = PlanSource()
        let client = try await ExperimentationClient(
            provider: GatedProvider(source: source),
            environment: ClientEnvironment(time: ManualTime())
        )
        let session = client.session(for: User(id: "ada"))
        client.attributes = ["plan": "free"]
        for _ in 0..<2 { try await session.refresh() }
        #expect(session.string("plan", default: "none") == "free")
        client.attributes = ["plan": "pro"]
        for _ in 0..<2 { try await session.refresh() }
        #expect(session.string("plan", default: "none") == "pro")
        #expect(source.requests.value == 2)
    }

    @Test(
        "a late answer to the client's former attributes doesn't change the decisions for the current ones",
        arguments: [nil, ExperimentationError(.transport, "gone")]
    )
    func lateAnswer(failure: ExperimentationError?) async throws {
        let source = SlowForFree(failure: failure)
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: User(id: "ada"))
        client.attributes = ["plan": "free"]
        let former = Task { try await session.refresh() }
        await source.isAsked.wait()
        client.attributes = ["plan": "pro"]
        try await session.refresh()
        source.mayAnswer.open()
        try? await former.value
        let details = session.details("plan", default: "none")
        #expect(details.value == "pro")
        #expect(details.reason != .stale && details.age == nil)
    }

    @Test(
        "a stopped adapter's error doesn't make its vendor's decisions stale",
        arguments: [ErrorCode.shutDown, .cancelled]
    )
    func stopped(code: ErrorCode) async throws {
        let source = PlanSource()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: User(id: "ada", attributes: ["plan": "free"]))
        try await session.refresh()
        source.failure.value = ExperimentationError(code, "stopped")
        await #expect(throws: ExperimentationError(code, "stopped")) { try await session.refresh(force: true) }
        #expect(session.status == .ready)
        #expect(client.status == .ready)
    }
}

/// Answers at once, except for one user, for whom it fails on request.
private final class SlowForAda: DecisionSource {
    let freshness = Freshness()
    let isAsked = AsyncGate()
    let mayFail = AsyncGate()

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        guard context.user.id == "ada" else {
            return .decided(Decisions(flags: [("user", Resolution(.string(context.user.id)))]))
        }
        isAsked.open()
        await mayFail.wait()
        throw ExperimentationError(.transport, "gone")
    }
}

/// Decides a flag with the user's plan; for the free one it is slow, and may fail.
private struct SlowForFree: DecisionSource {
    let freshness = Freshness()
    let failure: ExperimentationError?
    let isAsked = AsyncGate()
    let mayAnswer = AsyncGate()

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        if context["plan"] == "free" {
            isAsked.open()
            await mayAnswer.wait()
            if let failure { throw failure }
        }
        return .decided(Decisions(flags: [("plan", Resolution(context["plan"] ?? .null))]))
    }
}
