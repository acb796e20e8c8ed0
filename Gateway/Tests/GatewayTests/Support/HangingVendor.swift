import Experimentation
import Synchronization

/// A vendor that publishes rules, and whose answers a test holds back.
final class HangingVendor: ExperimentationProvider, RulesetSource {
    private struct State {
        var isHanging = false
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    /// The vendor that gives answers that aren't held back.
    let vendor: ChangingVendor
    private let state = Mutex(State())

    var name: String { vendor.name }
    var scope: String { vendor.scope }
    var capabilities: Set<Capability> { vendor.capabilities }
    var freshness: Freshness { vendor.freshness }

    /// Creates a vendor that answers.
    init(_ vendor: ChangingVendor) { self.vendor = vendor }

    /// The number of requests that are held back.
    var held: Int { state.withLock { $0.waiting.count } }

    /// Holds back every answer from now on.
    func hang() { state.withLock { $0.isHanging = true } }

    /// Lets the held-back answers fail, and holds back no further ones.
    func give() {
        let waiting = state.withLock { state in
            defer { state = State() }
            return state.waiting
        }
        for waiter in waiting { waiter.finish() }
    }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await vendor.start(in: context)
        roles.decisions = .computed(self)
        return roles
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        let isHeld = state.withLock { state in
            if state.isHanging { state.waiting.append(continuation) }
            return state.isHanging
        }
        guard isHeld else { return try await vendor.ruleset(ifNot: validator) }
        for await _ in gate {}
        throw ExperimentationError(.timeout, "nothing came")
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        try vendor.ruleset(restoring: raw)
    }
}
