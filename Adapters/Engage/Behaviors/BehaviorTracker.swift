import Experimentation
import Foundation

/// Tracks what the vendor's SDK tracks on its own: installation, sessions, notifications and links, with the campaigns
/// that they bring.
///
/// ```swift
/// let tracker = engage.tracker(for: session)
/// try await tracker.launch()
/// try await tracker.handlePushReceived(payload)
/// ```
public struct BehaviorTracker: Sendable {
    let engage: Engage
    let session: UserSession
    var client: ExperimentationClient?

    private var profile: EngageProfile { engage.profile }
    private var now: Date { engage.environment.time.now }
    private var translation: EngageTranslation { engage.events.translation }

    // MARK: Sessions

    /// Records that the application was started: the installation once, the end of the previous session if it is still
    /// missing, and the beginning of a new one.
    public func launch() async throws(ExperimentationError) {
        let now = now
        try await engage.sessions.take()
        defer { engage.sessions.leave() }
        try await profile.load()
        if !profile.record.isInstalled {
            try await session.track(.installed, at: now)
            // Stored only now: if the process ends in between, the event must not be lost.
            try await profile.update { $0.isInstalled = true }
        }
        try await passSession { $0.launch(at: now) }
    }

    /// Records that the application is in use, or no longer is.
    ///
    /// A session ends after the application was away for longer than the time-out. If the tracker has a client, it
    /// notifies the client too, which posts waiting events on the way to the background.
    public func setApplicationState(_ state: ApplicationState) async throws(ExperimentationError) {
        let now = now
        let timeout = engage.configuration.sessionTimeout / .seconds(1)
        var failure: ExperimentationError?
        do throws(ExperimentationError) {
            try await engage.sessions.take()
            defer { engage.sessions.leave() }
            try await passSession { clock in
                switch state {
                case .foreground: return clock.enter(at: now, timeout: timeout)
                case .background: clock.leave(at: now)
                default: break
                }
                return []
            }
        } catch {
            failure = error
        }
        await client?.setApplicationState(state)
        if let failure { throw failure }
    }

    /// Tracks the events that a change of the session's clock causes, and only then stores the change.
    ///
    /// If tracking fails, or the process ends in between, the next change causes the same events again. The caller has
    /// the turn of ``Engage/sessions``.
    private func passSession(
        _ change: (inout SessionClock) -> [SessionClock.Outcome]
    ) async throws(ExperimentationError) {
        try await profile.load()
        let user = session.user.id
        let watch = profile.watches.watch(user)
        var clock = profile.record.session
        do throws(ExperimentationError) {
            for outcome in change(&clock) {
                switch outcome {
                case .ended(let seconds, let date):
                    try await session.track(.sessionEnded(seconds: Double(seconds)), at: date)
                    try await profile.update { $0.session = SessionClock() }
                case .started(let date): try await session.track(.sessionStarted, at: date)
                }
            }
        } catch {
            // A session before a denial isn't tracked after another grant either.
            if error.code == .consentDenied { try await profile.update { $0.session = SessionClock() } }
            throw error
        }
        clock.userID = user
        try await profile.update(unlessRemoved: watch) { [clock, session] record in
            if !session.isDenied { record.session = clock }
        }
    }

    // MARK: Campaigns

    /// The campaign of the session's user that currently counts; empty if there is none.
    public var currentCampaign: String { campaigns.current(at: now) }

    /// The latest campaign of the session's user, expired or not; empty if there is none.
    public var lastCampaign: String { campaigns.last(at: now) }

    private var campaigns: CampaignShelf { profile.record.campaigns(of: session.user.id) }

    /// Stores a campaign of the session's user.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - expiration: When it ends, as parsed by ``Expiration``; the default length if `nil`.
    /// - Throws: `ErrorCode.store`; `ErrorCode.consentDenied` if the user denies consent.
    public func storeCampaign(_ name: String, until expiration: String? = nil) async throws(ExperimentationError) {
        let names = engage.configuration.parameters
        var values: [String: FlagValue] = [names.currentCampaign: .string(name)]
        if let expiration { values[names.campaignExpiresAt] = .string(expiration) }
        try await storeCampaign(in: values)
    }

    /// Stores a campaign that ends at a time in seconds since 1970; a text that isn't a number has already ended.
    public func storeCampaign(_ name: String, endTimestamp: String) async throws(ExperimentationError) {
        let names = engage.configuration.parameters
        let values: [String: FlagValue] = [
            names.currentCampaign: .string(name), names.campaignEnd: .string(endTimestamp.isEmpty ? "-" : endTimestamp),
        ]
        try await storeCampaign(in: values)
    }

    private func storeCampaign(in values: [String: FlagValue]) async throws(ExperimentationError) {
        try await profile.load()
        let user = session.user
        let watch = profile.watches.watch(user.id)
        // A session that learned of consent may store one at once; the denial ends with what its store has let through.
        let wasDenied = user.consent != .granted && profile.record.isDenied(user.id)
        if session.isDenied || wasDenied { throw EngageErrors.denied }
        guard let campaign = translation.scan.campaign(in: values, at: now, of: user.id) else { return }
        let isKept = try await profile.update(unlessRemoved: watch) { $0.campaigns.put(campaign) }
        // The checks above find out whether a denial removed the user.
        if !isKept { try await storeCampaign(in: values) }
    }

    // MARK: Notifications

    /// Records that a local notification arrived.
    public func handleLocalNotificationReceived(
        _ content: NotificationContent,
        attributes: Attributes = [:]
    ) async throws(ExperimentationError) {
        try await track(.notificationReceived(content), attributes)
    }

    /// Records that a push notification arrived.
    public func handlePushReceived(
        _ payload: [String: FlagValue],
        attributes: Attributes = [:]
    ) async throws(ExperimentationError) {
        try await track(.notificationReceived(NotificationContent(payload: payload)), attributes)
    }

    /// Records that a notification was opened.
    public func handleNotificationOpened(
        _ payload: [String: FlagValue],
        attributes: Attributes = [:]
    ) async throws(ExperimentationError) {
        try await track(.notificationOpened(NotificationContent(payload: payload)), attributes)
    }

    /// Records that a push notification arrived, from the system's `userInfo`.
    ///
    /// Values that can't be represented, such as dates, are left out.
    public nonisolated(nonsending) func handlePushReceived(
        userInfo: [AnyHashable: Any],
        attributes: Attributes = [:]
    ) async throws(ExperimentationError) {
        try await handlePushReceived([String: FlagValue](userInfo: userInfo), attributes: attributes)
    }

    /// Records that a notification was opened, from the system's `userInfo`.
    ///
    /// Values that can't be represented, such as dates, are left out.
    public nonisolated(nonsending) func handleNotificationOpened(
        userInfo: [AnyHashable: Any],
        attributes: Attributes = [:]
    ) async throws(ExperimentationError) {
        try await handleNotificationOpened([String: FlagValue](userInfo: userInfo), attributes: attributes)
    }

    /// Tracks an event, and stores the campaign that it brings.
    ///
    /// - Returns: The event's id.
    @discardableResult
    private func track(
        _ kind: TrackingEvent.Kind,
        _ attributes: Attributes
    ) async throws(ExperimentationError) -> String {
        let (date, userID) = (now, session.user.id)
        let watch = profile.watches.watch(userID)
        // Tracked first: nothing is kept of an event that is refused, as after a denial.
        let event = TrackingEvent(kind, attributes: attributes)
        let eventID = try await session.trackWithID(event, at: date)
        guard let campaign = translation.campaign(of: event, at: date, to: userID) else { return eventID }
        do throws(ExperimentationError) {
            try await profile.update(unlessRemoved: watch) { $0.campaigns.put(campaign) }
        } catch {
            // The event is accepted, and its delivery stores the campaign again.
            engage.environment.log.log(.warning, "engage.campaign", "not stored yet: \(error.message)")
        }
        return eventID
    }

    // MARK: Links

    /// An application's handler for a link that a route matches.
    public typealias LinkHandler = @Sendable (_ parameters: [String: String]) -> Void

    /// The result of ``handleExternalURLOpened(_:routes:handlers:)``.
    public struct OpenedLink: Sendable, Hashable {
        /// The id of the session start, by which ``EngageEventStore/event(id:)`` finds it.
        public var eventID: String
        /// The link's parameters; those of the query take precedence over those of the route.
        public var parameters: [String: String]

        /// The value of a parameter; `nil` if the link has no such parameter.
        public subscript(name: String) -> String? { parameters[name] }
    }

    /// Records that a link opened the application: one session start with all of the link's parameters.
    ///
    /// - Parameters:
    ///   - address: The link.
    ///   - routes: The meaning of links; without routes, only the query counts.
    ///   - handlers: The application's own handlers by their names in the route file.
    /// - Returns: The event's id and the parameters.
    /// - Throws: As `UserSession.track`.
    @discardableResult
    public func handleExternalURLOpened(
        _ address: String,
        routes: DeepLinkRoutes? = nil,
        handlers: [String: LinkHandler] = [:]
    ) async throws(ExperimentationError) -> OpenedLink {
        let link = DeepLink(address)
        var parameters: [String: String] = [:]
        if let routes {
            let match = routes.match(link)
            if routes.logs {
                engage.environment.log.log(.info, "engage.link", "a link went by \(match.route ?? "the default route")")
            }
            if match.handlers.contains(DeepLinkRoutes.ownHandler) { parameters = match.parameters }
            for name in match.handlers { handlers[name]?(match.parameters) }
        }
        parameters.merge(link.query) { $1 }
        let attributes = Attributes(parameters.mapValues(FlagValue.string))
        let eventID = try await track(.sessionStarted, attributes)
        return OpenedLink(eventID: eventID, parameters: parameters)
    }
}
