import AdapterKit
import Experimentation

/// A part of the application with a life cycle of its own: its events, its view and its campaign handlers.
///
/// Most contexts are an ``EvergageScreen``; ``Evergage/globalContext`` is the one that always exists. Calls return at
/// once; invalid ones are logged and dropped, and never turned into something else.
@MainActor
public class EvergageContext {
    weak var owner: Evergage?
    let viewing: EvergageViewing
    var handlers: [String: CampaignHandler] = [:]

    init(owner: Evergage, surface: String? = nil) {
        self.owner = owner
        viewing = EvergageViewing(surface: surface)
        viewing.context = self
    }

    deinit {
        let owner = owner
        Task { @MainActor in owner?.catchUp() }
    }

    /// The key of this context's events and campaigns; `nil` for the whole application.
    var surface: String? { viewing.surface }

    /// The name that events of this context carry.
    var pageType: String? { nil }

    /// Whether this context is visible, whatever the application's state.
    var canBeSeen: Bool { true }

    /// Whether this context is active: it is visible, and the application isn't in the background.
    public var isActive: Bool { canBeSeen && (owner?.attention.isForeground ?? false) }

    /// Whether handlers may be called: this context is active, and the application is in use.
    var isDeliverable: Bool { canBeSeen && (owner?.attention.isThere ?? false) }

    // MARK: Campaigns

    /// Registers, replaces or, with `nil`, removes the campaign handler of a target.
    ///
    /// Campaigns may come as answers to this context's events. The handler runs on the main actor, later, while this
    /// context is active and the application is in use. Until then, and while there is no handler, the latest
    /// campaign of each target is held.
    ///
    /// - Parameters:
    ///   - target: The target's name, exactly as in the campaign; a blank one is ignored.
    ///   - handler: What to do with a campaign.
    public func setCampaignHandler(forTarget target: String, _ handler: CampaignHandler?) {
        guard let owner else { return }
        owner.act { now in
            if target.isBlank { return owner.drop(.warning, "a handler for a blank target was ignored") }
            handlers[target] = handler
            register(target)
            handlersChanged(at: now)
        }
    }

    /// An override point; by default it does nothing.
    func handlersChanged(at now: ContinuousClock.Instant) {}

    /// Registers this context with a new session.
    func attach() {
        owner?.session?.setVisible(isDeliverable, surface: surface)
        for target in handlers.keys.sorted() { register(target) }
    }

    private func register(_ target: String) {
        // The session doesn't hold the application's handler itself, because that would keep alive what the handler
        // captures.
        let relay: CampaignHandler = { [weak self] campaign in self?.handlers[campaign.target]?(campaign) }
        let handler = handlers[target].map { _ in relay }
        // This can't fail: the vendor has campaigns, and the target isn't blank.
        try? owner?.session?.setCampaignHandler(forTarget: target, on: surface, handler)
    }

    // MARK: Time

    /// Starts or stops view time and the delivery of campaigns, depending on the state.
    func refresh(at now: ContinuousClock.Instant) {
        owner?.session?.setVisible(isDeliverable, surface: surface)
        note(viewing.timer.run(isDeliverable, at: now))
    }

    /// Captures view time, unless nothing is captured at the moment.
    func note(_ portions: [EvergageViewing.Timer.Portion]) {
        for portion in portions { owner?.capture(.viewTime(portion), surface: surface) }
    }

    /// The next moment at which this context acts on its own.
    var nextMoment: ContinuousClock.Instant? { viewing.timer.nextPortion }

    /// Performs the work that has become due.
    func catchUp(at now: ContinuousClock.Instant) {
        if let owner { viewing.timer.longest = owner.remote.viewTimePing }
        note(viewing.timer.advance(to: now))
    }
}

/// The current view in a context, and its surface; the owner concludes the view after the context has gone.
@MainActor
final class EvergageViewing {
    typealias Timer = ViewTimer<EvergageSubject>

    weak var context: EvergageContext?
    var timer = Timer(portions: EvergageRemoteConfiguration.portions)
    var surface: String?

    init(surface: String?) { self.surface = surface }
}
