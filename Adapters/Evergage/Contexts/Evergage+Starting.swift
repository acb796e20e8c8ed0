import AdapterKit
import Experimentation

extension Evergage {
    private static let anonymousIDKey = "evergage.anonymousID"

    /// Starts sending; only the first valid call counts, until ``reset()``.
    ///
    /// It doesn't throw: invalid settings are logged as an error.
    ///
    /// - Parameter make: The settings, as in `start(try EvergageConfiguration(account: "acme", dataset: "shop"))`.
    public func start(_ make: @autoclosure () throws(ExperimentationError) -> EvergageConfiguration) {
        guard configuration == nil else {
            return drop(.info, "started already; the second start was ignored")
        }
        let configuration: EvergageConfiguration
        do throws(ExperimentationError) {
            configuration = try make()
            try configuration.validate()
        } catch {
            return drop(.error, "not started: \(error.message)")
        }
        // View time before the start counts only if calls before the start do.
        catchUp()
        self.configuration = configuration
        if configuration.useDesignMode { drop(.info, "there is no design mode here") }
        captureLaunch(in: configuration.account)
        let generation = generation
        perform { await $0.open(configuration, generation) }
    }

    /// Ends what ``start(_:)`` began, so that it can be called again for another data set.
    ///
    /// It discards the settings, unsent events, held campaigns, the ids of user and account, and their unsent
    /// attributes. Handlers, visible screens, current views and the anonymous id stay.
    public func reset() {
        discardViewTime()
        catchUp()
        generation += 1
        // Answers to requests in progress are ignored.
        dropCampaigns()
        if let client { perform { await $0.discard(client) } }
        client = nil
        session = nil
        events = nil
        configuration = nil
        waiting = []
        ids = [:]
        pending = [:]
        discardUnstoredLaunch()
    }

    /// Removes everything that a client hasn't sent, and ends the client.
    private func discard(_ client: ExperimentationClient) async {
        // The removal also stores what a failing store hasn't accepted yet, and none of that may be sent first.
        await client.holdDelivery()
        await trying(try await client.removeWaitingEvents(), "events that weren't sent could not be removed")
        await client.shutdown(within: .zero)
    }

    /// Logs a failure, and continues.
    ///
    /// - Returns: Whether it succeeded.
    @discardableResult
    func trying(
        _ action: @autoclosure () async throws(ExperimentationError) -> some Any,
        _ failure: String
    ) async -> Bool {
        do throws(ExperimentationError) {
            _ = try await action()
            return true
        } catch {
            drop(.error, "\(failure): \(error)")
            return false
        }
    }

    /// Runs operations that take time, one after the other.
    func perform(_ operation: @escaping @MainActor @Sendable (Evergage) async -> Void) {
        operations.add { [weak self] in
            if let self { await operation(self) }
        }
    }

    private func open(_ configuration: EvergageConfiguration, _ generation: Int) async {
        let provider = EvergageProvider(configuration: configuration, transport: transport)
        var options = ClientOptions()
        // An earlier run's events wait, too: there may be no network or no consent any more, and a reset may have come
        // before the client.
        options.waitsForUser = true
        let client: ExperimentationClient
        let anonymousID: String
        let launch: ApplicationLaunch
        let stored: Consent
        do throws(ExperimentationError) {
            anonymousID = try await loadAnonymousID()
            launch = try await loadLaunch()
            stored = try await loadConsent()
            client = try await ExperimentationClient(
                provider: provider,
                store: store,
                options: options,
                environment: environment
            )
        } catch {
            // Everything that waits, including the launch, waits for the next start.
            if generation == self.generation {
                self.configuration = nil
                limitCallsBeforeStart()
            }
            return drop(.error, "not started: \(error.message)")
        }
        await client.setConnectivity(connectivity)
        guard generation == self.generation else { return await discard(client) }
        knownAnonymousID = anonymousID
        restore(stored)
        events = client.extras(as: EvergageEventSink.self)
        self.client = client
        session = client.session(for: User(id: anonymousID, anonymousID: anonymousID, consent: consent.current))
        for context in contexts { context.attach() }
        refreshAll(at: environment.time.instant)
        claimLaunch(as: launch.kind.actions, in: configuration.account)
        noteWaiting()
        // If a wanted launch wasn't tracked, as during a denial, a later launch tracks the install or the upgrade.
        let isUnwanted = !sendsLifecycleEvents && !process.launches.contains(configuration.account)
        if unstoredLaunch != nil || isUnwanted { unstoredVersion = launch.versionToStore }
        setAlarm()
        if consent.current == .denied {
            // This begins deliveries once the earlier run's events are removed.
            await carryOut(EvergageConsent.Change(consent: .denied, userID: userID))
        } else {
            await client.beginDelivery()
        }
        await storeLaunch()
    }

    /// Tracks the waiting calls, each for its own user.
    func noteWaiting() {
        guard let session else { return }
        for captured in waiting {
            identify(captured.ids[.user])
            note(captured, in: session)
        }
        waiting = []
        identify(userID)
    }

    private func loadAnonymousID() async throws(ExperimentationError) -> String {
        if let knownAnonymousID { return knownAnonymousID }
        if let id = try await store.state.text(for: Self.anonymousIDKey)?.unlessBlank { return id }
        let id = environment.makeID()
        try await store.state.setText(id, for: Self.anonymousIDKey)
        return id
    }
}
