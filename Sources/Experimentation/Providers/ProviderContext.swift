/// What a client lends to its provider: the same time, chance, ids and log that it goes by itself, and a store.
public struct ProviderContext: Sendable {
    /// Time, chance, ids, and a place for messages.
    public let environment: ClientEnvironment
    /// Where the provider keeps its own state between runs, apart from that of all others.
    ///
    /// Keys belong to this account of this vendor; nothing of another is seen or written.
    public let state: any StateStore
    /// The whole of the client's store, of which ``state`` is a part.
    private let store: any StateStore

    /// Creates a context that isn't a client's, for tests of a provider by itself.
    ///
    /// - Parameters:
    ///   - environment: Time, chance, ids and a place for messages.
    ///   - state: Where the provider keeps what is its own; lost with the process unless another is named.
    public init(environment: ClientEnvironment = ClientEnvironment(), state: any StateStore = InMemoryStateStore()) {
        self.environment = environment
        self.state = state
        store = state
    }

    /// Creates the context of a provider's account in a client's store.
    package init(of provider: any ExperimentationProvider, in store: any StateStore, _ environment: ClientEnvironment) {
        self.environment = environment
        self.store = store
        state = ScopedStateStore(store, prefix: "\(provider.destination.account.prefix(32))/provider/")
    }

    /// The context of a provider that another one wraps: it finds what it kept under a client of its own.
    package func context(of provider: any ExperimentationProvider) -> ProviderContext {
        ProviderContext(of: provider, in: store, environment)
    }
}
