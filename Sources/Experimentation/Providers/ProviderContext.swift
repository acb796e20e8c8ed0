import Foundation

/// The environment that a client gives its provider: its own clock, randomness, ids and log, and a store.
public struct ProviderContext: Sendable {
    /// The client's clock, randomness, ids and log.
    public let environment: ClientEnvironment
    /// Where the provider keeps its own state between runs, apart from all other state.
    ///
    /// Keys belong to this account of this vendor; nothing of another account is seen or written.
    public let state: any StateStore
    /// The client's whole store, of which ``state`` is a part.
    private let store: any StateStore
    /// When the client was created.
    private let began: Date
    private let isOpen: SurfaceCheck
    /// How long a start tries to read what the store can't read at first; shared by everything that starts with the
    /// client.
    package let patience: ReadingPatience

    /// Returns whether the part of the application in which an event happened is still open; `nil` if the event has no
    /// session, or its session has ended.
    package typealias SurfaceCheck = @Sendable (Envelope) -> Bool?

    /// Creates a context without a client, for tests of a provider by itself.
    ///
    /// - Parameters:
    ///   - environment: Clock, randomness, ids and log.
    ///   - state: Where the provider keeps its own state; by default in memory, and so lost with the process.
    public init(environment: ClientEnvironment = ClientEnvironment(), state: any StateStore = InMemoryStateStore()) {
        self.environment = environment
        self.state = state
        store = state
        began = environment.time.now
        isOpen = { _ in nil }
        patience = ReadingPatience(by: environment.time)
    }

    /// Creates the context of a provider's account in a client's store.
    package init(
        of provider: any ExperimentationProvider,
        in store: any StateStore,
        _ environment: ClientEnvironment,
        isOpen: @escaping SurfaceCheck = { _ in nil }
    ) {
        self.init(
            of: provider,
            in: store,
            environment,
            since: environment.time.now,
            isOpen,
            ReadingPatience(by: environment.time)
        )
    }

    private init(
        of provider: any ExperimentationProvider,
        in store: any StateStore,
        _ environment: ClientEnvironment,
        since began: Date,
        _ isOpen: @escaping SurfaceCheck,
        _ patience: ReadingPatience
    ) {
        self.environment = environment
        self.store = store
        self.began = began
        self.isOpen = isOpen
        self.patience = patience
        state = ScopedStateStore(store, prefix: "\(provider.destination.account.prefix(32))/provider/")
    }

    /// Returns the context of a wrapped provider, in which it finds what it stored under a client of its own.
    package func context(of provider: any ExperimentationProvider) -> ProviderContext {
        ProviderContext(of: provider, in: store, environment, since: began, isOpen, patience)
    }

    /// Whether campaigns that answer an event may still be shown to anyone: not in a part of the application that has
    /// been closed since, and not if the event happened before this client was created.
    ///
    /// This is for vendors that can be asked to answer without campaigns.
    package func awaitsCampaigns(of envelope: Envelope) -> Bool {
        if let isOpen = isOpen(envelope) { return isOpen }
        // A clock that was set back since makes events of this run look like those of an earlier one.
        return envelope.date >= began || environment.time.now < began
    }

    /// Returns what a client kept for this provider when it was the client's only one.
    package func kept(for provider: any ExperimentationProvider) -> KeptBefore {
        KeptBefore(store, of: provider.destination, environment.log)
    }
}

/// What a client kept about a provider's users and rules, for a provider that now wraps it.
package struct KeptBefore: Sendable {
    private let state: KeptState

    init(_ store: any StateStore, of account: Destination, _ log: any LogSink) {
        state = KeptState(store: store, of: account, log: log)
    }

    /// The user's variations by group, for a vendor that honors earlier ones.
    ///
    /// - Throws: What the store throws; a user who counted as new instead would be shown another variation.
    package func assignments(of userID: String) async throws(ExperimentationError) -> [String: String] {
        try await state.find([String: String].self, .assignments(of: userID)) ?? [:]
    }

    /// Whether the client has decisions of an earlier run for a user.
    package func hasDecisions(of userID: String) async -> Bool { await state.bytes(.decisions(of: userID)) != nil }

    /// The vendor's own bytes of its last rules.
    ///
    /// - Throws: What the store throws.
    package func ruleset() async throws(ExperimentationError) -> [UInt8]? {
        try await state.findBytes(.ruleset).flatMap { StoredRuleset(written: $0)?.raw }
    }
}
