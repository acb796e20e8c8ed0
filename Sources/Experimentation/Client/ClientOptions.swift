import Synchronization

/// How a client behaves; all of it has defaults that suit an application.
public struct ClientOptions: Sendable {
    /// A name for this client, told to hooks.
    public var name: String?
    /// What is known of every user of this client; a user's own attributes lie over it.
    public var attributes: Attributes
    /// What is known of every user of several clients; this client's ``attributes`` lie over it.
    public var sharedAttributes: SharedAttributes?
    /// Code that runs with every evaluation.
    public var hooks: [any Hook]
    /// Who is told of each exposure when it is recorded.
    public var exposureObservers: [any ExposureObserver]
    /// When the reading of a flag counts as an exposure.
    public var exposurePolicy: ExposurePolicy
    /// What follows when decisions are overdue; what the provider says if `nil`.
    public var afterExpiry: Freshness.AfterExpiry?
    /// When events are sent; what the provider says if `nil`.
    public var batching: BatchPolicy?
    /// For how many users the decisions of their sessions are kept in the store, for the next run; up to an eighth more for
    /// a while.
    public var cachedUsers: Int
    /// How many bytes of memory the decisions of users without a session take at most, roughly.
    ///
    /// A user with nine flags takes about four kilobytes where the vendor is asked for each, so that the default holds some
    /// sixteen thousand; where rules are evaluated here, nothing is kept of a user. Those unused for longest go first.
    public var decisionCacheBytes: Int
    /// What is read until there are decisions.
    public var bootstrap: Bootstrap?
    /// What ``UserSession/track(_:at:on:)`` does while too many events wait; `nil` for accepting them all the same, so that a
    /// full store drops the oldest of the least important.
    public var backPressure: BackPressure?
    /// How long ``ExperimentationClient/shutdown(within:)`` takes at most, unless it is told otherwise.
    public var shutdownDeadline: Duration
    /// Whether what an earlier run left waits until ``ExperimentationClient/beginDelivery()``: for a vendor whose users may say
    /// first that they no longer agree.
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

    /// The attributes; a change counts from the next evaluation for a user, or refresh of a session, on.
    public var attributes: Attributes {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// Attributes for everything that is evaluated within a task: OpenFeature's transaction context.
///
/// ```swift
/// await TransactionAttributes.$current.withValue(["region": "eu"]) { await handle(request) }
/// ```
public enum TransactionAttributes {
    /// What is known within this task; it lies over the shared and under the client's attributes.
    @TaskLocal public static var current: Attributes = [:]
}
