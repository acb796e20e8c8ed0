/// What a client lends to its provider: the same time, chance, ids and log that it goes by itself, and a store.
public struct ProviderContext: Sendable {
    /// Time, chance, ids, and a place for messages.
    public let environment: ClientEnvironment
    /// Where the provider keeps what is its own, between runs and apart from everybody else.
    ///
    /// Keys belong to this account of this vendor; nothing of another is seen or written.
    public let state: any StateStore

    /// Creates a context that isn't a client's, for tests of a provider by itself.
    ///
    /// - Parameters:
    ///   - environment: Time, chance, ids and a place for messages.
    ///   - state: Where the provider keeps what is its own; lost with the process unless another is named.
    public init(environment: ClientEnvironment = ClientEnvironment(), state: any StateStore = InMemoryStateStore()) {
        self.environment = environment
        self.state = state
    }

    /// Creates the context of a provider's account in a client's store.
    package init(of provider: any ExperimentationProvider, in store: any StateStore, _ environment: ClientEnvironment) {
        let account = Digest.hex(provider.name, provider.scope).prefix(32)
        self.init(environment: environment, state: ScopedStateStore(store, prefix: "\(account)/provider/"))
    }
}
