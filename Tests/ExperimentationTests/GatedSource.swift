import Experimentation
import Synchronization

/// Decides a flag with the user's name once a gate is open.
final class GatedSource: DecisionSource {
    private struct State {
        var requests = 0
        var isOpen = false
        var fails = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var asked: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Mutex(State())
    let freshness = Freshness()

    var requests: Int { state.withLock { $0.requests } }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func fail() { state.withLock { $0.fails = true } }

    func waitUntilAsked() async {
        await withCheckedContinuation { continuation in
            let isAsked = state.withLock { state in
                if state.requests == 0 { state.asked.append(continuation) }
                return state.requests > 0
            }
            if isAsked { continuation.resume() }
        }
    }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let asked = state.withLock { state in
            state.requests += 1
            defer { state.asked = [] }
            return state.asked
        }
        for continuation in asked { continuation.resume() }
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
        if state.withLock({ $0.fails }) { throw ExperimentationError(.transport, "gone") }
        return .decided(
            Decisions(flags: [("a", Resolution(true)), ("user", Resolution(.string(context.user.id)))])
        )
    }
}

/// Decides a flag with the user's plan, for ten minutes.
struct PlanSource: DecisionSource {
    var freshness = Freshness(lifetime: .seconds(600))
    let requests = Shared(0)
    let failure = Shared<ExperimentationError?>(nil)

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        requests.change { $0 += 1 }
        if let failure = failure.value { throw failure }
        return .decided(Decisions(flags: [("plan", Resolution(context["plan"] ?? .null))]))
    }
}

/// A vendor that is asked.
struct GatedProvider: ExperimentationProvider {
    let source: any DecisionSource
    var name: String { "gated" }
    var scope: String { "" }
    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .asked(source))
    }
    var capabilities: Set<Capability> { [.flags] }
}
