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
    private let listeners = Mutex(Listeners())

    private struct Listeners: Sendable {
        var forget: @Sendable (String) async throws(ExperimentationError) -> Void = { _ in }
        var hear: @Sendable () -> Void = {}
    }

    var name: String { provider.name }
    var scope: String { provider.scope }
    var capabilities: Set<Capability> { provider.capabilities }
    var destination: Destination { provider.destination }

    init(_ provider: any ExperimentationProvider) { self.provider = provider }

    /// What the vendor's roles say; known once it has been started.
    var facts: Facts { noted.withLock { $0 } }

    /// Has something removed of each user who denies consent.
    func onForget(_ forget: @escaping @Sendable (String) async throws(ExperimentationError) -> Void) {
        listeners.withLock { $0.forget = forget }
    }

    /// Has something done when a vendor that is asked for each user announces a change.
    ///
    /// Of new rules the client tells by itself.
    func onChange(_ hear: @escaping @Sendable () -> Void) { listeners.withLock { $0.hear = hear } }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await provider.start(in: context)
        var facts = Facts(isSticky: roles.assignments.isSticky, needsConsent: roles.needsConsent)
        if case .computed(let source) = roles.decisions { facts.isPolling = source.freshness.polling != nil }
        noted.withLock { $0 = facts }
        if case .asked = roles.decisions {
            roles.changes = roles.changes.map { changes in
                HeardChanges(changes: changes) { [weak self] in self?.listeners.withLock { $0 }.hear() }
            }
        }
        let forget = roles.forget
        roles.forget = { [weak self] userID throws(ExperimentationError) in
            try await forget(userID)
            try await self?.listeners.withLock { $0 }.forget(userID)
        }
        return roles
    }
}

/// A vendor's notices of changes, of which another hears as well.
private struct HeardChanges: ChangeSource {
    let changes: any ChangeSource
    let hear: @Sendable () -> Void

    func notices() -> AsyncStream<ChangeNotice> {
        let notices = changes.notices()
        // Notices only have somebody ask again, so older ones may be dropped.
        let (stream, continuation) = AsyncStream.makeStream(of: ChangeNotice.self, bufferingPolicy: .bufferingNewest(2))
        let passing = Task {
            for await notice in notices {
                continuation.yield(notice)
                if notice == .changed { hear() }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in passing.cancel() }
        return stream
    }

    func setApplicationState(_ applicationState: ApplicationState) { changes.setApplicationState(applicationState) }
}
