import Experimentation
import Synchronization

/// A tenant's vendor, of which the gateway notes what it needs to know and no client tells.
final class ObservedProvider: ExperimentationProvider {
    /// What a vendor's roles say.
    struct Facts: Sendable {
        /// Whether the vendor promises to keep assignments.
        var isSticky = false
        /// Whether nothing may be kept of a user who hasn't consented.
        var needsConsent = false
        /// Whether rules are fetched without anybody asking for them.
        var isPolling = false
    }

    private let provider: any ExperimentationProvider
    private let noted = Mutex(Facts())
    private let forgetting = Mutex<(@Sendable (String) async throws(ExperimentationError) -> Void)?>(nil)

    var name: String { provider.name }
    var scope: String { provider.scope }
    var capabilities: Set<Capability> { provider.capabilities }
    var destination: Destination { provider.destination }

    init(_ provider: any ExperimentationProvider) { self.provider = provider }

    /// What the vendor's roles say; known once it has been started.
    var facts: Facts { noted.withLock { $0 } }

    /// Has something removed of each user who denies consent.
    func onForget(_ forget: @escaping @Sendable (String) async throws(ExperimentationError) -> Void) {
        forgetting.withLock { $0 = forget }
    }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await provider.start(in: context)
        var facts = Facts(isSticky: roles.assignments.isSticky, needsConsent: roles.needsConsent)
        if case .computed(let source) = roles.decisions { facts.isPolling = source.freshness.polling != nil }
        noted.withLock { $0 = facts }
        let forget = roles.forget
        roles.forget = { [weak self] userID throws(ExperimentationError) in
            try await forget(userID)
            if let own = self?.forgetting.withLock({ $0 }) { try await own(userID) }
        }
        return roles
    }
}
