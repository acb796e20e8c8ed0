import Experimentation
import Synchronization

extension Probe {
    /// The client's provider.
    public func provider() async throws -> any ExperimentationProvider {
        _ = try await client()
        return try unwrap(state.withLock { $0.provider }, "the provider")
    }

    /// The roles of the client's provider.
    public func roles() async throws -> ProviderRoles { try await client().roles }

    /// Whether unknown consent holds events back from the vendor.
    func needsConsent() async throws -> Bool { try await stage.needsConsent(roles()) }

    /// Uses another store for the next client.
    public func use(_ store: ClientStore) {
        state.withLock { state in
            state.store = store
            state.reopen = nil
        }
    }

    /// Wraps the stores of all clients created from now on.
    func wrapStore(_ wrap: @escaping @Sendable (ClientStore) -> ClientStore) { state.withLock { $0.wrap = wrap } }

    /// Adds a second destination to the events of the next client.
    func send(alsoTo companion: StrangeProvider) {
        note("events go to another destination as well")
        state.withLock { $0.companion = companion }
    }

    /// Has another vendor decide the flags of the next client, whose vendor only takes the events.
    func decideElsewhere() {
        note("another vendor decides the flags")
        state.withLock { $0.isDecidedElsewhere = true }
    }

    /// Creates another client on the same store, as in another process.
    ///
    /// - Parameter provider: Its provider; one of this vendor if `nil`.
    /// - Returns: The client; it ends with the case.
    /// - Throws: Why the provider can't be created or started.
    func anotherClient(of provider: (any ExperimentationProvider)? = nil) async throws -> ExperimentationClient {
        note("another client begins on the same store")
        _ = try await client()
        var made = provider
        if made == nil { made = try await stage.makeProvider() }
        let client = try await ExperimentationClient(
            provider: try unwrap(made, "a provider"),
            store: try await state.withLock { $0.reopen }?() ?? state.withLock { $0.store },
            options: state.withLock { $0.options },
            environment: environment
        )
        // Registered to be shut down with the others.
        state.withLock { $0.others.append(client) }
        return client
    }
}
