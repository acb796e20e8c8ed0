import AdapterKit
import Experimentation

/// The API of the vendor's own SDK: started once, with a user, contexts and their life cycle.
///
/// When started, it creates an ``EvergageProvider`` and a client of its own, both of which can be used directly as
/// well. It is isolated to the main actor, as screens are; every call returns at once and captures a snapshot.
///
/// ```swift
/// import EvergageSQLite
///
/// let evergage = Evergage()
/// evergage.userID = "u-77"
/// evergage.start(try EvergageConfiguration(account: "acme.us-1", dataset: "engage"))
/// let screen = evergage.makeScreen(name: "Home")
/// screen?.setCampaignHandler(forTarget: "featuredProduct") { [weak self] in self?.show($0) }
/// screen?.didAppear()
/// screen?.viewItem(.product(id: "sku-11", name: "Trail shoe", price: 89.5))
/// ```
@MainActor
public final class Evergage {
    /// What happens to calls before ``start(_:)``.
    public enum PreStartPolicy: Sendable, Hashable {
        /// The latest hundred are kept in memory and sent after the start, as the SDK up to 1.4 did.
        case queue
        /// They are dropped with a warning, as the SDK does since 1.5.
        case drop
    }

    /// The instance that the UIKit conveniences use; set by the application.
    public static var shared: Evergage?

    nonisolated let environment: ClientEnvironment
    let transport: (any HTTPTransport)?
    let store: ClientStore
    let preStartPolicy: PreStartPolicy
    let applicationVersion: String?
    /// Tests simulate several processes.
    var process = EvergageProcess.current
    /// The account in which this instance tracked the launch, until the store is known to have it.
    var unstoredLaunch: String?
    /// The version to store once the store has the launch.
    var unstoredVersion: String?
    let sendsLifecycleEvents: Bool

    var attention: Attention
    /// Set by ``start(_:)``, cleared by ``reset()``.
    var configuration: EvergageConfiguration?
    var events: EvergageEventSink?
    /// Increases with each ``reset()``, which ends all earlier work.
    var generation = 0

    /// The calls that can't be tracked yet.
    var waiting: [Captured] = []
    /// The attributes for the next action.
    var pending: EvergageAttributes = [:]
    /// The user and account that a call made now belongs to.
    var ids: EvergageIDs = [:]
    var knownAnonymousID: String?

    private var global: EvergageContext?
    /// The current view in each context; a screen that has gone keeps its view until that is concluded.
    private var viewings: [EvergageViewing] = []
    private var screenCount = 0
    private let alarm: Alarm
    let operations = TaskChain()

    /// The neutral client; it exists from shortly after ``start(_:)`` until ``reset()``.
    public internal(set) var client: ExperimentationClient?
    /// The neutral session behind all contexts.
    public internal(set) var session: UserSession?

    /// The user's consent to tracking.
    var consent = EvergageConsent()
    /// The state of the network as the application set it.
    var connectivity = Connectivity.unknown

    /// Creates an instance that hasn't been started.
    ///
    /// - Parameters:
    ///   - store: Where events wait and the anonymous id is stored; `EvergageSQLite` has an initializer without this
    ///     parameter, which uses a file of the application's own.
    ///   - anonymousID: The device's id; if `nil`, the platform's id for vendors or, without one, an id generated once
    ///     and stored.
    ///   - applicationVersion: Distinguishes an upgrade from a launch; the main bundle's `CFBundleShortVersionString`
    ///     if `nil`.
    ///   - sendsLifecycleEvents: Whether to track install, upgrade, launch, and changes between background and
    ///     foreground. A launch is tracked once per process and account, whatever is reset and started again; after a
    ///     reset it is tracked once more if the store isn't known to have it.
    ///   - preStartPolicy: What happens to calls before ``start(_:)``.
    ///   - transport: Sends requests; the platform's own if `nil`.
    ///   - environment: Clock, ids and log.
    public init(
        store: ClientStore,
        anonymousID: String? = nil,
        applicationVersion: String? = nil,
        sendsLifecycleEvents: Bool = true,
        preStartPolicy: PreStartPolicy = .queue,
        transport: (any HTTPTransport)? = nil,
        environment: ClientEnvironment = ClientEnvironment()
    ) {
        self.store = store
        self.environment = environment
        self.transport = transport
        self.preStartPolicy = preStartPolicy
        self.applicationVersion =
            (applicationVersion ?? HostDevice.application("CFBundleShortVersionString"))?.unlessBlank
        self.sendsLifecycleEvents = sendsLifecycleEvents
        knownAnonymousID = (anonymousID ?? HostDevice.vendorID)?.unlessBlank
        attention = Attention(at: environment.time.instant)
        alarm = Alarm(by: environment.time)
    }

    // MARK: Contexts

    /// The vendor's settings of the application, or the defaults while they are unknown.
    var remote: EvergageRemoteConfiguration { events?.remote ?? EvergageRemoteConfiguration() }

    /// Whether the vendor's kill switch is on.
    ///
    /// The adapter asks the vendor again from time to time; `client.statusEvents()` announces changes.
    public var isDisabled: Bool { events?.remote.map { !$0.isEnabled } ?? (client?.status == .disabled) }

    /// The context that always exists; `nil` while the vendor's kill switch is on.
    public var globalContext: EvergageContext? {
        if isDisabled { return nil }
        if let global { return global }
        let context = EvergageContext(owner: self)
        global = context
        viewings.insert(context.viewing, at: 0)
        context.attach()
        context.refresh(at: environment.time.instant)
        return context
    }

    /// Creates a screen; `nil` while the vendor's kill switch is on.
    ///
    /// Keep it for as long as the screen exists.
    public func makeScreen(name: String? = nil) -> EvergageScreen? {
        if isDisabled { return nil }
        screenCount += 1
        let screen = EvergageScreen(owner: self, number: screenCount, name: name)
        viewings.append(screen.viewing)
        screen.attach()
        return screen
    }

    var contexts: [EvergageContext] { viewings.compactMap(\.context) }

    /// Tracks the remaining view time of screens that no longer exist, and closes their surfaces.
    private func concludeLostViews(at moment: ContinuousClock.Instant) {
        for viewing in viewings.filter({ $0.context == nil }) {
            viewings.removeAll { $0 === viewing }
            for portion in viewing.timer.run(false, at: moment) {
                capture(.viewTime(portion), surface: viewing.surface)
            }
            if let surface = viewing.surface { session?.closeSurface(surface) }
        }
    }

    // MARK: Host

    /// Records that the user touched the application; otherwise they count as idle after a minute.
    public func touched() {
        act { now in
            let wasActive = attention.isUserActive
            attention.touch(at: now)
            if !wasActive { refreshAll(at: now) }
        }
    }

    /// Sets whether the application is in the foreground.
    ///
    /// When it goes to the background, waiting events are sent, for five seconds at most; when it returns, events that
    /// still wait are tried at once.
    public func setApplicationState(_ state: ApplicationState) {
        let isForeground = state != .background
        let changes = isForeground != attention.isForeground
        act { now in
            attention.move(toForeground: isForeground, at: now)
            if state == .idle { attention.grewIdle() }
            refreshAll(at: now)
        }
        guard changes else { return }
        captureLifecycle(isForeground ? "App Foreground" : "App Background")
        if isForeground { deliverSoon(retrying: false) } else { deliverSoon(within: .seconds(5)) }
    }

    // MARK: Time

    func refreshAll(at now: ContinuousClock.Instant) {
        for context in contexts { context.refresh(at: now) }
    }

    /// Performs an action that may change what is due next, after everything that has become due.
    func act(_ action: (ContinuousClock.Instant) -> Void) {
        catchUp()
        action(environment.time.instant)
        setAlarm()
    }

    /// Runs everything that has become due.
    func catchUp() {
        let now = environment.time.instant
        let idle = attention.idleMoment(after: remote.userIdle)
        // These screens may have gone after the user went idle.
        concludeLostViews(at: min(now, idle ?? now))
        if let idle, idle <= now {
            attention.grewIdle()
            refreshAll(at: idle)
        }
        for context in contexts { context.catchUp(at: now) }
        // Current views stay, but time in which nothing is captured never counts.
        if !isCapturing { discardViewTime() }
    }

    /// Discards view time that isn't captured yet.
    func discardViewTime() {
        for viewing in viewings { viewing.timer.discard(at: environment.time.instant) }
    }

    /// Sets the timer for the next thing that is due.
    func setAlarm() {
        let moments = contexts.map(\.nextMoment) + [attention.idleMoment(after: remote.userIdle)]
        alarm.set(to: moments.compactMap(\.self).min()) { @MainActor [weak self] in self?.act { _ in } }
    }
}
