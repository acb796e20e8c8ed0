import Experimentation
import HTTPTypes
import Synchronization

/// Whether more requests should come.
final class Readiness: Sendable {
    private let draining = Atomic(false)

    /// Whether the process is about to end: every answer is the last one of its connection.
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Tells that the process is about to end.
    func drain() { draining.store(true, ordering: .relaxed) }

    /// Whether more should come, for every one of these tenants.
    func isReady(_ tenants: [Tenant]) -> Bool { !isDraining && tenants.allSatisfy(\.isReady) }

    /// What `/ready` answers: 200 if every tenant can be answered, else 503; it may change in both directions.
    func answer(_ tenants: [Tenant]) -> Answer {
        if isDraining { return .json(.serviceUnavailable, ["status": "draining"]) }
        let isReady = isReady(tenants)
        return .json(isReady ? .ok : .serviceUnavailable, ["status": isReady ? "ready" : "not ready"])
    }
}
