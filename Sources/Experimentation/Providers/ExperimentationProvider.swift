/// A vendor's account as the client sees it: a name, capabilities, and a start that returns the vendor's roles.
///
/// What is written once for all vendors stays above this seam: cache, validity, polling, coalescing, outbox, exposure
/// rules, consent, retries of deliveries, hooks. An implementer states policies and translates, and never calls back.
///
/// A provider is a value that holds its configuration. Everything that lives as long as a client is created in
/// ``start(in:)``, with that client's clock, randomness and store.
public protocol ExperimentationProvider: Sendable {
    /// The vendor's name as people write it, in lower case.
    var name: String { get }

    /// A string that distinguishes accounts of this vendor, for file names and cache keys.
    ///
    /// It must differ between two accounts whenever a cached answer of one must not be used for the other, or an event
    /// of one must not be sent to the other, as with another environment or another credential. A store knows the
    /// account by a digest of it, so the string must stay the same from version to version. It may hold a secret; only
    /// the digest is ever written.
    var scope: String { get }

    /// What the provider supports in detail, for the matrix and for the conformance suite.
    var capabilities: Set<Capability> { get }

    /// The owner of events and of the state kept between runs: an account named after ``name`` and ``scope``, unless
    /// the provider acts for another's account.
    var destination: Destination { get }

    /// Creates the vendor's roles; the client calls it once, before anything else.
    ///
    /// Checks the settings and opens what the provider needs. It must not wait for the vendor: an unreachable vendor is
    /// no reason to fail here.
    ///
    /// - Parameter context: The client's environment, and a store of the provider's own.
    /// - Returns: The vendor's roles, as values; fixed from then on.
    /// - Throws: ``ErrorCode/configuration`` if a setting can't work.
    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles
}

extension ExperimentationProvider {
    /// The account named after ``name`` and ``scope``.
    public var destination: Destination { Destination(provider: name, scope: scope) }
}

/// The roles of a vendor.
///
/// A missing role is answered with ``ErrorCode/unsupported``, never with silence.
public struct ProviderRoles: Sendable {
    /// How decisions are made.
    public enum Deciding: Sendable {
        /// The vendor decides; it is asked for each user.
        case asked(any DecisionSource)
        /// The vendor publishes rules; they are fetched once and evaluated here.
        case computed(any RulesetSource)
    }

    /// How decisions are made, if there are any.
    public var decisions: Deciding?
    /// How assignments are kept and forced.
    public var assignments = AssignmentPolicy()
    /// Where events go, if the vendor takes any.
    public var events: (any EventSink)?
    /// Further destinations of events: each has its own order, attempts, pauses and ledger.
    ///
    /// An event that a further sink's ``EventSink/check(_:)`` refuses isn't owed to it. If there are ``events``, they
    /// decide whether an event is accepted at all, and none of the routes leads to the provider's own destination. If
    /// there are none, an event is accepted if one of the routes takes it. Destinations are distinct.
    public var furtherRoutes: [EventRoute] = []
    /// How an anonymous user becomes a known one, if that takes more than sending both ids.
    public var identity: (any IdentityLinker)?
    /// How the client learns that decisions have changed, if the vendor announces it.
    public var changes: (any ChangeSource)?
    /// The vendor's kill switch, if the client asks about it separately from decisions.
    public var remoteSwitch: (any RemoteSwitch)?
    /// How campaigns are held, if the vendor answers events with any.
    public var campaigns: CampaignPolicy?
    /// Whether the vendor needs consent before anything may be sent; if so, unknown consent holds events.
    public var needsConsent: Bool
    /// Features that only this vendor has, for ``ExperimentationClient/extras``.
    public var extras: (any Sendable)?
    /// Features that only the wrapped providers have, for ``ExperimentationClient/extras(as:)``.
    public var furtherExtras: [any Sendable] = []
    /// Called for each flag that a user sees because of a variation, once in a session, if an exposure of each
    /// variation isn't enough; `nil` if the provider needn't know.
    ///
    /// Called while a flag is read, before its exposure is recorded: it must be quick. It slows reading down.
    public var flagSeen: (@Sendable (FlagSight) -> Void)?
    /// Reads what the sinks need to know when they check an event; `nil` if their checks depend on nothing outside this
    /// process.
    ///
    /// Called before an event's destinations are chosen, unless the caller can't wait, such as a read of a flag. If it
    /// throws, the event isn't accepted.
    public var prepare: (@Sendable (_ event: TrackingEvent) async throws(ExperimentationError) -> Void)?
    /// Removes the provider's own state of a user, without a trace.
    ///
    /// Called when a user denies consent; after a failure it is called again until it succeeds, in a later run if need
    /// be.
    public var forget: @Sendable (_ userID: String) async throws(ExperimentationError) -> Void = { _ in }
    /// Releases what the start opened; called once, after the last delivery, with the moment at which the caller stops
    /// waiting.
    public var stop: @Sendable (_ deadline: ContinuousClock.Instant) async -> Void = { _ in }

    /// Creates roles.
    public init(
        decisions: Deciding? = nil,
        events: (any EventSink)? = nil,
        identity: (any IdentityLinker)? = nil,
        campaigns: CampaignPolicy? = nil,
        needsConsent: Bool = false
    ) {
        self.decisions = decisions
        self.events = events
        self.identity = identity
        self.campaigns = campaigns
        self.needsConsent = needsConsent
    }
}

/// How a vendor's assignments are kept and forced.
public struct AssignmentPolicy: Sendable, Hashable {
    /// Whether a user keeps a variation once assigned, across restarts too.
    public var isSticky: Bool
    /// Whether a device may force an assignment.
    public var allowsOverrides: Bool

    /// Creates a policy; by default nothing is kept and nothing can be forced.
    public init(isSticky: Bool = false, allowsOverrides: Bool = false) {
        self.isSticky = isSticky
        self.allowsOverrides = allowsOverrides
    }
}

/// How to hold the campaigns with which a vendor answers events.
public struct CampaignPolicy: Sendable, Hashable {
    /// How many undelivered campaigns to hold for each target of a surface; the newest stay.
    public var limitPerTarget: Int

    /// Creates a policy.
    public init(limitPerTarget: Int = 1) { self.limitPerTarget = limitPerTarget }
}

/// Something that a vendor's adapter supports; declared by the adapter, checked by the conformance suite.
public struct Capability: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The capability's written form, as in reports.
    public let rawValue: String
    /// Creates a capability from its written form.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The written form.
    public var description: String { rawValue }

    /// Flags with typed values.
    public static let flags = Capability(rawValue: "flags")
    /// Flag values that are objects.
    public static let objectFlags = Capability(rawValue: "object-flags")
    /// Metadata and variants of flags.
    public static let flagMetadata = Capability(rawValue: "flag-metadata")
    /// Decisions that depend on attributes.
    public static let targeting = Capability(rawValue: "targeting")
    /// Rules that compare dates and times of day.
    public static let dateTargeting = Capability(rawValue: "date-targeting")
    /// Rules that compare versions part by part, so that 2.9 comes before 2.10.
    public static let versionTargeting = Capability(rawValue: "version-targeting")
    /// Decisions are computed on this device from rules.
    public static let localEvaluation = Capability(rawValue: "local-evaluation")
    /// Decisions survive a restart without the network.
    public static let offlineStart = Capability(rawValue: "offline-start")
    /// Experiments with variations.
    public static let experiments = Capability(rawValue: "experiments")
    /// Assignments are kept when the allocation changes.
    public static let stickyAssignments = Capability(rawValue: "sticky-assignments")
    /// Layers: experiments that divide the users among them, so that no user is in two.
    public static let layers = Capability(rawValue: "layers")
    /// Holdouts.
    public static let holdouts = Capability(rawValue: "holdouts")
    /// Control groups that are identifiable as such.
    public static let controlGroups = Capability(rawValue: "control-groups")
    /// Assignments forced on this device.
    public static let overrides = Capability(rawValue: "overrides")
    /// Exposures are reported to the vendor.
    public static let exposures = Capability(rawValue: "exposures")
    /// Events are delivered to the vendor.
    public static let tracking = Capability(rawValue: "tracking")
    /// Item views, carts and purchases are events with a shape of their own.
    public static let commerce = Capability(rawValue: "commerce")
    /// Several events travel in one request.
    public static let batching = Capability(rawValue: "batching")
    /// Events have an id on the wire, by which repetitions can be recognized.
    public static let eventIDs = Capability(rawValue: "event-ids")
    /// Anonymous users become known ones.
    public static let identityLinking = Capability(rawValue: "identity-linking")
    /// Campaigns come back as answers to events.
    public static let campaigns = Capability(rawValue: "campaigns")
    /// Changes of consent are sent to the vendor.
    public static let consentSignal = Capability(rawValue: "consent-signal")
    /// The vendor has a kill switch.
    public static let killSwitch = Capability(rawValue: "kill-switch")

    /// All capabilities, in the order of the matrix.
    public static let all: [Capability] = [
        .flags, .objectFlags, .flagMetadata, .targeting, .dateTargeting, .versionTargeting, .localEvaluation,
        .offlineStart, .experiments, .stickyAssignments, .layers, .holdouts, .controlGroups, .overrides, .exposures,
        .tracking, .commerce, .batching, .eventIDs, .identityLinking, .campaigns, .consentSignal, .killSwitch,
    ]
}
