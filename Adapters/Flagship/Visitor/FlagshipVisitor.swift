import Experimentation
import Foundation
import Synchronization

/// A user of the application, with Flagship's API.
///
/// Reading is synchronous and never fails; fetching, hits and consent are asynchronous. A visitor may be used from
/// several tasks at once.
public final class FlagshipVisitor: Sendable {
    struct State {
        var identity: Identity
        /// The context as the device and the application set it.
        var context: [String: FlagValue]
        var hasConsented: Bool
        var machine = FlagshipFetchMachine()
        /// The decisions that are read instead of the session's flags until a fetch succeeds, and the ids they were
        /// made for: an earlier run's, or none after a panic.
        var held: OwnedDecisions?
        /// The variations of earlier fetches and runs by variation group, for each id that the visitor has had.
        var history: [ExactText: [String: String]] = [:]
        /// The flags whose values were read, with the default of the last read, if it had one.
        var reads: [ExactText: FlagValue?] = [:]
        var sentContext: [String: FlagValue]?
        /// Whether the vendor must be told of a refusal even if it isn't new.
        var owesRefusal = true
        /// The ids under which consent was withdrawn, until the withdrawal is carried out.
        var withdrawn: Set<ExactText> = []
    }

    /// Decisions, and the ids that they were made for.
    typealias OwnedDecisions = (decisions: Decisions, user: Identity)

    let flagship: Flagship
    let session: UserSession?
    let state: Mutex<State>
    /// Changes of consent are carried out one at a time.
    let consentTurn = AsyncSemaphore(limit: 1)
    private let announcements = Announcements<FlagshipFetchMachine.Announcement>()
    private let listener: FlagshipFetchListener?

    /// Creates a visitor; ``prepare()`` carries out its consent.
    init(_ builder: FlagshipVisitorBuilder, _ identity: Identity, context: [String: FlagValue]) {
        let hasConsented = builder.hasConsented
        let user = User(identity, attributes: Attributes(context), consent: hasConsented ? .granted : .denied)
        flagship = builder.flagship
        session = flagship.client?.session(for: user)
        state = Mutex(State(identity: identity, context: context, hasConsented: hasConsented))
        listener = builder.onFetchStatusChanged
    }

    var log: any LogSink { flagship.environment.log }

    /// Changes the fetch status together with its effect on the flags, and announces the change.
    @discardableResult
    func transition<Value: Sendable>(_ change: (inout State) -> Value) -> Value {
        announcements.change(\.machine.current, of: state, by: change) { listener?($0.status, $0.reason) }
    }

    /// Looks up the visitor in the cache, or deletes it, and applies its consent; hits left by an earlier run are
    /// delivered from then on.
    ///
    /// Before the start and in panic, the vendor isn't told: that waits for the next change or the next visitor object.
    func prepare() async {
        let (id, hasConsented) = state.withLock { ($0.identity.id, $0.hasConsented) }
        let isToldNow = flagship.isActive
        if hasConsented, let record = await flagship.storedVisitor(id) { restore(record) }
        if isToldNow || !hasConsented { await carryOutConsent(restating: isToldNow) }
        await flagship.client?.beginDelivery()
    }

    private func restore(_ record: FlagshipVisitorRecord) {
        session?.honor(EarlierAssignments(record.assignments))
        transition { state in
            state.machine.become(.fetchRequired, .fetchedFromCache)
            state.history[ExactText(record.visitorID)] = record.assignments
            if !record.flags.isEmpty { state.held = (record.decisions, state.identity) }
        }
    }

    // MARK: Identity

    /// The visitor's id.
    public var visitorID: String { state.withLock { $0.identity.id } }
    /// The visitor's id from before signing in; `nil` for a visitor who hasn't signed in.
    public var anonymousID: String? { state.withLock { $0.identity.anonymousID } }
    /// Whether the visitor is signed in.
    public var isAuthenticated: Bool { state.withLock { $0.identity.isAuthenticated } }
    /// Whether the visitor has consented.
    public var hasConsented: Bool { state.withLock { $0.hasConsented } }
    /// The status of the flags.
    public var fetchStatus: FlagshipFetchStatus { state.withLock { $0.machine.current.status } }
    /// Why the flags need to be fetched.
    public var fetchReason: FlagshipFetchReason { state.withLock { $0.machine.current.reason } }

    /// Signs in: the previous id becomes the anonymous one.
    ///
    /// Flags then need to be fetched.
    ///
    /// In bucketing mode this has no effect, as in the original SDK, and is logged.
    public func authenticate(_ visitorID: String) {
        changeIdentity(.authenticate) { $0.authenticate(visitorID) }
    }

    /// Signs out: the anonymous id is the visitor's again.
    ///
    /// Flags then need to be fetched.
    ///
    /// In bucketing mode this has no effect, as in the original SDK, and is logged.
    public func unauthenticate() {
        changeIdentity(.unauthenticate) { $0.unauthenticate() }
    }

    private func changeIdentity(_ reason: FlagshipFetchReason, _ change: (inout Identity) -> Void) {
        let tag: FlagshipTag = reason == .authenticate ? .authenticate : .unauthenticate
        guard flagship.options.mode == .decisionAPI else {
            return log.log(.warning, tag, "in bucketing mode this changes nothing")
        }
        guard flagship.status != .panic else { return log.log(.info, tag, "in panic this changes nothing") }
        // The session is updated under the lock, so that it ends up with the same identity as the visitor.
        let isNews = state.withLock { state in
            let before = state.identity
            change(&state.identity)
            guard state.identity != before else { return false }
            // The vendor may know of a consent under this id.
            state.owesRefusal = true
            session?.identify(state.identity)
            return true
        }
        guard isNews else { return }
        transition { $0.machine.change(reason) }
        report(reason == .authenticate ? .authenticated : .unauthenticated) { contextFields }
    }

    // MARK: The context

    /// Returns the current context.
    public func context() -> [String: FlagValue] { state.withLock { $0.fullContext } }

    /// Sets one context value.
    public func updateContext(_ key: String, _ value: FlagValue) { updateContext([key: value]) }

    /// Sets context values; those that Flagship has no type for are left out and logged, and the others take effect.
    ///
    /// `fs_users` is always the visitor's id, and another value for it is left out too. Flags need to be fetched again
    /// only if anything has changed.
    public func updateContext(_ values: [String: FlagValue]) {
        guard flagship.isActive else {
            return log.log(.info, .updateContext, "nothing changes while the status is \(flagship.status.rawValue)")
        }
        let usable = flagship.usable(values, of: visitorID)
        guard changeContext({ $0.merge(usable) { $1 } }) else { return }
        transition { $0.machine.change(.updateContext) }
    }

    /// Sets a value that Flagship defines; one of the wrong type is left out and logged.
    ///
    /// - Returns: Whether it was set.
    @discardableResult
    public func updateContext(_ key: FlagshipContextKey, _ value: FlagValue) -> Bool {
        if let objection = key.objection(to: value) {
            log.log(.error, .updateContext, objection)
            return false
        }
        updateContext([key.rawValue: value])
        return true
    }

    /// Removes all context values.
    ///
    /// Rules for all users still hold, and requests still describe the device.
    public func clearContext() { changeContext { $0 = [:] } }

    /// Changes the context; the session is updated under the lock, so that concurrent changes don't undo each other.
    ///
    /// - Returns: Whether anything changed.
    @discardableResult
    private func changeContext(_ change: (inout [String: FlagValue]) -> Void) -> Bool {
        state.withLock { state in
            let before = state.context
            change(&state.context)
            guard state.context != before else { return false }
            try? session?.replaceAttributes(Attributes(state.context))
            return true
        }
    }
}

extension FlagshipVisitor.State {
    /// The context, including the key that follows the visitor's id.
    var fullContext: [String: FlagValue] {
        var values = context
        if !values.isEmpty { values[FlagshipContextKey.users] = .string(identity.id) }
        return values
    }
}
