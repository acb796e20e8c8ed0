import Foundation
import Synchronization

/// One user of the application, from arrival to departure: their decisions and their events.
///
/// Reading is synchronous and uses one immutable snapshot; it never waits, throws or touches the network. Everything
/// else is asynchronous. A session may be used from several tasks at once.
///
/// ```swift
/// let session = client.session(for: User(id: "u-1", attributes: ["vip": true], consent: .granted))
/// try await session.refresh()
/// let color = session.string("btnColor", default: "red")
/// try await session.track(.purchase(order))
/// ```
public final class UserSession: Sendable {
    /// The session's id; events carry it.
    public let id: String

    let core: ClientCore
    let snapshots: Lanes<Snapshot>
    let state: Mutex<State>
    let changeListeners = Listeners<DecisionChange>()
    /// Goes off when decisions expire, while there are listeners; created when first needed, as most sessions have
    /// none.
    let expiryAlarm = Mutex<Alarm?>(nil)
    /// Stored data of a user is written in order, and lists of assignments are read between the writes.
    let writingTurn = AsyncSemaphore(limit: 1)
    /// Values decoded as application types.
    let decoded = DecodedFlags()

    /// The mutable state of a session.
    struct State {
        var user: User
        /// How often the application has named the user.
        var namings: UInt64 = 0
        var revision: UInt64 = 1
        /// The number of questions for decisions so far.
        var questions: UInt64 = 0
        var attributeDates: [String: Date]
        var pendingChanges: Attributes
        var assignments = StickyAssignments()
        /// The lists of assignments that wait to be written, by user, who may leave the session before then.
        var unwritten: [ExactText: StickyAssignments.Unstored] = [:]
        var restoration = Restoration()
        var recorded: Set<ExposureKey> = []
        var board: CampaignBoard
        var epochs = EventEpochs()
        /// The changes of consent that the vendor hasn't been told yet.
        var untold = UntoldConsents()
        /// Why the store couldn't be told of the user's consent, if it failed.
        var statementFailure: ExperimentationError?
    }

    init(core: ClientCore, user: User) {
        self.core = core
        id = core.environment.makeID()
        let (user, now) = (user.identified, core.environment.time.now)
        snapshots = Lanes(
            Snapshot(
                decisions: core.bootstrap ?? .none,
                context: ContextBox(core.context(for: user)),
                origin: .fresh,
                date: now,
                instant: core.environment.time.instant,
                revision: 0
            )
        )
        state = Mutex(
            State(
                user: user,
                attributeDates: user.attributes.values.mapValues { _ in now },
                pendingChanges: user.attributes,
                board: CampaignBoard(limitPerTarget: core.roles.campaigns?.limitPerTarget ?? 1)
            )
        )
    }

    deinit { core.sessions.remove(id) }

    // MARK: The user

    /// The user as currently known.
    public var user: User { state.withLock { $0.user } }

    /// Changes attributes; ``FlagValue/null`` removes one.
    ///
    /// Decisions follow with the next ``refresh(force:)``.
    ///
    /// - Parameter attributes: The attributes to change; the others stay.
    /// - Throws: ``ErrorCode/invalidContext`` for a value that is nested deeper than 16 levels or isn't finite; nothing
    ///   changes then.
    public func update(_ attributes: Attributes) throws(ExperimentationError) {
        try attributes.validate()
        let now = core.environment.time.now
        state.withLock { $0.change(attributes, at: now) }
    }

    /// Replaces all attributes.
    ///
    /// - Throws: As ``update(_:)``.
    public func replaceAttributes(_ attributes: Attributes) throws(ExperimentationError) {
        try attributes.validate()
        let now = core.environment.time.now
        state.withLock { state in
            var changes = attributes
            for name in state.user.attributes.values.keys where attributes[name] == nil { changes[name] = .null }
            state.change(changes, at: now)
        }
    }

    /// Switches this session to another user, as at a login or logout, where the vendor needs no more than both ids.
    ///
    /// Reads keep the old decisions, as ``Reason/stale``, until the next ``refresh(force:)``. To have the vendor link
    /// the two users, call ``link(to:criteria:)``. A different id means a different user, who gets none of the
    /// campaigns that earlier events brought or still bring.
    public func identify(_ identity: Identity) {
        identify(identity) { state in
            state.namings += 1
            return true
        }
    }

    /// Switches this session to another user, if it still may.
    func identify(_ identity: Identity, if mayBecome: (inout State) -> Bool) {
        let identity = identity.identified
        let revision = state.withLock { state -> UInt64 in
            guard mayBecome(&state), state.user.identity != identity else { return 0 }
            state.become(identity)
            stateConsent(of: &state)
            return state.revision
        }
        // Decisions for the new user may have come by now.
        update { $0.revision > 0 && $0.revision < revision ? $0.with(origin: .stale) : nil }
    }

    // MARK: Decisions

    /// All decisions as currently read.
    public var decisions: Decisions { core.isDisabled ? .none : snapshots.current.readable }

    /// All decisions as currently read, and the user they were made for, who isn't the session's user right after a
    /// change.
    package var decisionsOfUser: (decisions: Decisions, user: Identity) {
        let snapshot = snapshots.current
        return (core.isDisabled ? .none : snapshot.decisions, snapshot.context.context.user.identity)
    }

    /// The user's assignments to experiments and holdouts.
    public var assignments: [Assignment] { decisions.assignments }

    /// Whether there are decisions, and how good they are.
    public var status: ProviderStatus { status(of: snapshots.current) }

    /// The status while a snapshot is read.
    func status(of snapshot: Snapshot) -> ProviderStatus {
        if core.isDisabled { return .disabled }
        if snapshot.revision == 0 { return core.status.status == .fatal ? .fatal : .notReady }
        if snapshot.isOverdue {
            return snapshot.afterExpiry == .notReady ? .notReady : .stale
        }
        return snapshot.origin == .stale ? .stale : .ready
    }

    // MARK: Campaigns

    /// Registers, replaces or, with `nil`, removes the campaign handler of a target.
    ///
    /// Campaigns that arrived before are handed over now. The handler runs on the main actor, never within this call.
    ///
    /// - Parameters:
    ///   - target: The target's name in the vendor's console; not blank.
    ///   - surface: The part of the application that shows it; `nil` for the whole application.
    ///   - handler: What to do with a campaign.
    /// - Throws: ``ErrorCode/unsupported`` if the vendor has no campaigns, ``ErrorCode/invalidArgument`` for a blank
    ///   target.
    public func setCampaignHandler(
        forTarget target: String,
        on surface: String? = nil,
        _ handler: CampaignHandler?
    ) throws(ExperimentationError) {
        guard core.roles.campaigns != nil else { throw .unsupported("campaigns", by: core.provider.name) }
        guard !target.isBlank else {
            throw ExperimentationError(.invalidArgument, "A campaign's target must not be blank.")
        }
        hand(over: state.withLock { $0.board.setHandler(handler, target: target, surface: surface) })
    }

    /// The targets of a surface that have campaign handlers, sorted.
    package func campaignTargets(on surface: String?) -> [String] {
        state.withLock { $0.board.targets(surface: surface) }
    }

    /// Sets whether a part of the application is visible; campaigns for it wait while it isn't.
    public func setVisible(_ isVisible: Bool, surface: String?) {
        hand(over: state.withLock { $0.board.setDeliverable(isVisible, surface: surface) })
    }

    /// Removes the handlers and held campaigns of a part of the application that has gone.
    public func clearCampaigns(on surface: String?) {
        hand(over: state.withLock { $0.board.clear(surface: surface) })
    }

    /// The number of parts of the application whose campaigns are matched with handlers, the whole included.
    package var surfaceCount: Int { state.withLock { $0.board.count } }

    /// Removes a part of the application that won't come back; answers to its events are dropped from now on.
    public func closeSurface(_ surface: String) {
        state.withLock { $0.board.close(surface: surface) }
    }

    /// The campaigns held for a part of the application, or for the whole.
    public func heldCampaigns(on surface: String? = nil) -> [Campaign] {
        state.withLock { $0.board.held(surface: surface) }
    }

    /// Removes the epoch of an event that can bring no more campaigns.
    func forgetEpoch(of envelope: Envelope) { state.withLock { _ = $0.epochs.take(envelope.id) } }

    func setInUse(_ isInUse: Bool) { hand(over: state.withLock { $0.board.setInUse(isInUse) }) }

    func receive(_ campaigns: [Campaign], for envelope: Envelope) {
        let due = state.withLock { state -> [CampaignBoard.Delivery] in
            let epoch = state.epochs.take(envelope.id)
            // The event's epoch may be forgotten, but not its user, and nothing is shown to a user who denies consent.
            guard state.isAbout(envelope.identity.id), state.user.consent != .denied else { return [] }
            return state.board.receive(campaigns, surface: envelope.surface, epoch: epoch)
        }
        hand(over: due)
    }

    /// Calls handlers on the main actor, in order, skipping those that have been removed meanwhile.
    private func hand(over deliveries: [CampaignBoard.Delivery]) {
        guard !deliveries.isEmpty else { return }
        Task { @MainActor [weak self] in
            for delivery in deliveries {
                guard let handler = self?.state.withLock({ $0.board.redeem(delivery) }) else { continue }
                handler(delivery.campaign)
            }
        }
    }
}

extension ExperimentationError {
    /// The error for something that the vendor has no equivalent of.
    static func unsupported(_ what: String, by provider: String) -> Self {
        ExperimentationError(.unsupported, "\(provider) has no \(what).")
    }
}

extension Attributes {
    /// Checks that every value can be stored and sent.
    func validate() throws(ExperimentationError) {
        if let objection { throw ExperimentationError(.invalidContext, objection) }
    }
}
