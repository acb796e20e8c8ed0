import AdapterKit
import Experimentation
import Foundation

extension Evergage {
    private enum Key {
        static let anonymousID = "evergage.anonymousID"
        static let version = "evergage.applicationVersion"
    }

    /// Starts sending; the first call counts, until ``reset()``, and one with settings that can't work doesn't.
    ///
    /// It doesn't throw: what is wrong with the settings is logged as an error.
    ///
    /// - Parameter make: Makes the settings, as in `start(try EvergageConfiguration(account: "acme", dataset: "shop"))`.
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
        self.configuration = configuration
        if configuration.useDesignMode { drop(.info, "there is no design mode here") }
        let generation = generation
        perform { await $0.open(configuration, generation) }
    }

    /// Ends what ``start(_:)`` began, so that it can be called again, for another data set.
    ///
    /// Forgotten are the settings, events that weren't sent, held campaigns, the user's and the account's id and attributes
    /// that weren't sent. Handlers, what is visible and what is viewed stay, and so does the anonymous id.
    public func reset() {
        catchUp()
        generation += 1
        let (client, session) = (client, session)
        for context in contexts {
            // Answers that are on their way come too late.
            session?.clearCampaigns(on: context.surface)
            context.timer.discard(at: environment.time.instant)
        }
        self.client = nil
        self.session = nil
        events = nil
        configuration = nil
        preStart = []
        currentUserID = nil
        currentAccountID = nil
        pendingUserAttributes = [:]
        pendingAccountAttributes = [:]
        guard let client else { return }
        perform { evergage in
            do throws(ExperimentationError) {
                try await client.removeWaitingEvents()
            } catch {
                evergage.drop(.error, "events that weren't sent could not be removed: \(error)")
            }
            await client.shutdown(within: .zero)
        }
    }

    /// Runs what takes time, one after the other.
    func perform(_ operation: @escaping @MainActor @Sendable (Evergage) async -> Void) {
        let before = lastOperation
        lastOperation = Task { [weak self] in
            await before?.value
            if let self { await operation(self) }
        }
    }

    private func open(_ configuration: EvergageConfiguration, _ generation: Int) async {
        let provider = EvergageProvider(configuration: configuration, transport: transport)
        let client: ExperimentationClient
        let anonymousID: String
        let launch: [String]
        do throws(ExperimentationError) {
            anonymousID = try await loadAnonymousID()
            launch = try await launchActions()
            client = try await ExperimentationClient(provider: provider, store: store, environment: environment)
        } catch {
            if generation == self.generation { self.configuration = nil }
            return drop(.error, "not started: \(error.message)")
        }
        guard generation == self.generation else { return await client.shutdown(within: .zero) }
        knownAnonymousID = anonymousID
        events = client.extras as? EvergageEventSink
        self.client = client
        let session = client.session(for: User(id: anonymousID, anonymousID: anonymousID))
        events?.surfaces.open(session: session.id)
        self.session = session
        for context in contexts { context.attach() }
        refreshAll(at: environment.time.instant)
        if sendsLifecycleEvents { for action in launch { captureLifecycle(action) } }
        for captured in preStart {
            session.identify(identity(of: captured.userID, anonymousID: anonymousID))
            note(captured, in: session)
        }
        preStart = []
        session.identify(identity(of: currentUserID, anonymousID: anonymousID))
        setAlarm()
    }

    private func loadAnonymousID() async throws(ExperimentationError) -> String {
        if let knownAnonymousID { return knownAnonymousID }
        if let bytes = try await store.state.value(for: Key.anonymousID),
            let id = String(decoding: bytes, as: UTF8.self).unlessBlank
        {
            return id
        }
        let id = environment.makeID()
        try await store.state.setValue(Array(id.utf8), for: Key.anonymousID)
        return id
    }

    /// What this launch is called: at most one of install and upgrade, then launch.
    private func launchActions() async throws(ExperimentationError) -> [String] {
        let before = try await store.state.value(for: Key.version).map { String(decoding: $0, as: UTF8.self) }
        let version = applicationVersion ?? ""
        if before != version { try await store.state.setValue(Array(version.utf8), for: Key.version) }
        switch before {
        case nil: return ["App Install", "App Launch"]
        case version: return ["App Launch"]
        default: return ["App Upgrade", "App Launch"]
        }
    }

    // MARK: Capturing

    /// Whether calls count at all.
    var isListening: Bool {
        if isDisabled { return false }
        if configuration == nil, preStartPolicy == .drop {
            drop(.warning, "a call before the start was ignored")
            return false
        }
        return true
    }

    /// Takes an event, as it is now, to be sent.
    func capture(_ event: TrackingEvent, surface: String?) {
        let captured = Captured(event: event, date: environment.time.now, userID: currentUserID, surface: surface)
        if let session { return note(captured, in: session) }
        preStart.append(captured)
        if preStart.count > 100 {
            preStart.removeFirst()
            drop(.warning, "more than 100 calls before the start; the oldest was dropped")
        }
    }

    private func note(_ captured: Captured, in session: UserSession) {
        do throws(ExperimentationError) {
            try session.trackSoon(captured.event, at: captured.date, on: captured.surface)
        } catch {
            drop(.error, "an event was refused: \(error)")
        }
    }

    func captureLifecycle(_ name: String) {
        guard sendsLifecycleEvents, configuration != nil, !isDisabled else { return }
        var action = EvergageAction(members: ["action": .string(name)])
        complete(&action, withAttributes: true)
        capture(action.event, surface: nil)
    }

    /// Adds what is known of the account, and what waits for the next event.
    func complete(_ action: inout EvergageAction, withAttributes: Bool) {
        var account: [String: FlagValue] = [:]
        account.set("id", currentAccountID)
        if withAttributes {
            if !pendingUserAttributes.isEmpty {
                action.members["user"] = ["attributes": .object(pendingUserAttributes)]
                pendingUserAttributes = [:]
            }
            if !pendingAccountAttributes.isEmpty {
                account["attributes"] = .object(pendingAccountAttributes)
                pendingAccountAttributes = [:]
            }
        }
        if !account.isEmpty { action.members["account"] = .object(account) }
    }

    /// Logs what is not as it should be.
    func drop(_ level: LogLevel, _ text: @autoclosure () -> String) {
        environment.log.log(level, "evergage.call", text())
    }
}

// MARK: - Who it is

extension Evergage {
    /// The device's id; `nil` before it is known, and while the vendor has disabled the application.
    public var anonymousID: String? { isDisabled ? nil : knownAnonymousID }

    /// The id of a signed-in user; set it at every launch, for it isn't kept.
    ///
    /// `nil` makes the user anonymous again, and the account's id `nil` as well. A blank id is ignored. It counts from the
    /// next call on; attributes that wait for an event are dropped when a named user becomes another.
    public var userID: String? {
        get { currentUserID }
        set {
            if let newValue, newValue.isBlank { return drop(.warning, "a blank user id was ignored") }
            guard newValue != currentUserID else { return }
            catchUp()
            if currentUserID != nil, !pendingUserAttributes.isEmpty {
                pendingUserAttributes = [:]
                drop(.warning, "user attributes that weren't sent belonged to another user and were dropped")
            }
            currentUserID = newValue
            if newValue == nil { currentAccountID = nil }
            if let session, let knownAnonymousID {
                session.identify(identity(of: newValue, anonymousID: knownAnonymousID))
            }
        }
    }

    /// The id of the company that the user belongs to; nothing to do with the account of the configuration.
    public var accountID: String? {
        get { currentAccountID }
        set { currentAccountID = newValue?.unlessBlank }
    }

    /// Sets an attribute of the user, which the next event takes along; `nil` removes it.
    public func setUserAttribute(_ value: String?, forName name: String) {
        set(value, name, in: \.pendingUserAttributes)
    }

    /// Sets an attribute of the account, which the next event takes along; `nil` removes it.
    public func setAccountAttribute(_ value: String?, forName name: String) {
        set(value, name, in: \.pendingAccountAttributes)
    }

    private func set(
        _ value: String?,
        _ name: String,
        in attributes: ReferenceWritableKeyPath<Evergage, [String: FlagValue]>
    ) {
        guard !name.isBlank else { return drop(.warning, "an attribute with a blank name was ignored") }
        self[keyPath: attributes][name] = value.map(FlagValue.string) ?? .null
    }

    private func identity(of userID: String?, anonymousID: String) -> Identity {
        Identity(id: userID ?? anonymousID, anonymousID: anonymousID, isAuthenticated: userID != nil)
    }
}
