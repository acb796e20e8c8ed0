import Experimentation
import HTTPTypes
import Synchronization

/// Whether the gateway should receive requests.
final class Readiness: Sendable {
    private let draining = Atomic(false)

    /// Whether the process is shutting down: every answer then closes its connection.
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Announces the shutdown.
    func drain() { draining.store(true, ordering: .relaxed) }

    /// Whether all of these tenants should receive requests.
    func isReady(_ tenants: [Tenant]) -> Bool { !isDraining && tenants.allSatisfy(\.isReady) }

    /// The answer to `/ready`: 200 if every tenant can be served, else 503; it may change in both directions.
    func answer(_ tenants: [Tenant]) -> Answer {
        if isDraining { return .json(.serviceUnavailable, ["status": "draining"]) }
        let isReady = isReady(tenants)
        return .json(isReady ? .ok : .serviceUnavailable, ["status": isReady ? "ready" : "not ready"])
    }
}
