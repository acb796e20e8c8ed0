import Synchronization

/// Settings of a client; each has a default that suits an application.
public struct ClientOptions: Sendable {
    /// A name for this client, passed to hooks.
    public var name: String?
    /// Attributes of every user of this client; a user's own attributes take precedence.
    public var attributes: Attributes
    /// Attributes of every user of several clients; this client's ``attributes`` take precedence.
    public var sharedAttributes: SharedAttributes?
    /// Hooks that run with every evaluation.
    public var hooks: [any Hook]
    /// Observers that are called for each exposure when it is recorded.
    public var exposureObservers: [any ExposureObserver]
    /// When a read of a flag counts as an exposure.
    public var exposurePolicy: ExposurePolicy
    /// What happens when decisions expire; `nil` for the provider's rule.
    public var afterExpiry: Freshness.AfterExpiry?
    /// When to send events; `nil` for the provider's policy.
    public var batching: BatchPolicy?
    /// The number of users whose sessions' decisions the store keeps for the next run; temporarily up to an eighth
    /// more.
    public var cachedUsers: Int
    /// How many bytes of memory the decisions of users without a session may take, roughly.
    ///
    /// A user with nine flags takes about four kilobytes where the vendor is asked for each user, so the default holds
    /// about sixteen thousand. Where rules are evaluated here, nothing is kept per user. The least recently used are
    /// evicted first.
    public var decisionCacheBytes: Int
    /// How long ``ExperimentationClient/decisions(for:honoring:)`` reuses the answers of a vendor that is asked for
    /// each user, within ``decisionCacheBytes``; `nil` to ask each time.
    public var answerReuse: AnswerReuse?
    /// Values to read until there are decisions.
    public var bootstrap: Bootstrap?
    /// What ``UserSession/track(_:at:on:)`` does while too many events wait; `nil` to accept them anyway, so that a
    /// full store drops the oldest of the least important events.
    public var backPressure: BackPressure?
    /// How long ``ExperimentationClient/shutdown(within:)`` may take if it is given no duration.
    public var shutdownDeadline: Duration
    /// Whether events left by an earlier run wait until ``ExperimentationClient/beginDelivery()``: for a vendor whose
    /// users may withdraw consent first.
    package var waitsForUser = false

    /// Creates options.
    public init(
        name: String? = nil,
        attributes: Attributes = [:],
        sharedAttributes: SharedAttributes? = nil,
        hooks: [any Hook] = [],
        exposureObservers: [any ExposureObserver] = [],
        exposurePolicy: ExposurePolicy = .oncePerSession,
        afterExpiry: Freshness.AfterExpiry? = nil,
        batching: BatchPolicy? = nil,
        cachedUsers: Int = 100,
        decisionCacheBytes: Int = 64_000_000,
        answerReuse: AnswerReuse? = nil,
        bootstrap: Bootstrap? = nil,
        backPressure: BackPressure? = nil,
        shutdownDeadline: Duration = .seconds(5)
    ) {
        self.name = name
        self.attributes = attributes
        self.sharedAttributes = sharedAttributes
        self.hooks = hooks
        self.exposureObservers = exposureObservers
        self.exposurePolicy = exposurePolicy
        self.afterExpiry = afterExpiry
        self.batching = batching
        self.cachedUsers = cachedUsers
        self.decisionCacheBytes = decisionCacheBytes
        self.answerReuse = answerReuse
        self.bootstrap = bootstrap
        self.backPressure = backPressure
        self.shutdownDeadline = shutdownDeadline
    }
}

/// Attributes that several clients share: OpenFeature's global evaluation context, without a global.
public final class SharedAttributes: Sendable {
    private let state: Mutex<Attributes>

    /// Creates shared attributes.
    public init(_ attributes: Attributes = [:]) { state = Mutex(attributes) }

    /// The attributes; a change takes effect with the next evaluation for a user, or refresh of a session.
    public var attributes: Attributes {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// Attributes for every evaluation within a task: OpenFeature's transaction context.
///
/// ```swift
/// await TransactionAttributes.$current.withValue(["region": "eu"]) { await handle(request) }
/// ```
public enum TransactionAttributes {
    /// The attributes of this task; they override the shared attributes, and the client's override them.
    @TaskLocal public static var current: Attributes = [:]
}
