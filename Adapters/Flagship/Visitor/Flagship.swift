import AdapterKit
import Experimentation
import Foundation
import Synchronization

/// Flagship's own API on top of the neutral client.
///
/// An application that used the vendor's SDK can move to it call by call.
///
/// ```swift
/// let flagship = await Flagship.start(environmentID: "bkk9glocmjcg0vtmdlng", apiKey: "key", store: store)
/// let visitor = await flagship.newVisitor("u-1", hasConsented: true).context(["vip": true]).build()
/// await visitor.fetchFlags()
/// let color = visitor.flag("btnColor").value(default: "red")
/// await flagship.close()
/// ```
///
/// There is no shared instance: create one, pass it on, and close it at the end.
public final class Flagship: Sendable {
    /// The underlying neutral client; `nil` if nothing was started.
    public let client: ExperimentationClient?
    /// The environment.
    public let environmentID: String
    /// The options it was started with.
    public let options: FlagshipOptions

    let service: FlagshipService?
    let environment: ClientEnvironment
    /// When it was started.
    let started: Date
    let visitors: any FlagshipVisitorCache
    let state: any StateStore
    let consents: FlagshipConsentNotes
    private let announcements = Announcements<FlagshipStatus>()
    private let current = Mutex(Current())

    private struct Current {
        var status = FlagshipStatus.notInitialized
        /// The task that follows the client's status.
        var watching: Task<Void, Never>?
        var sharedVisitor: FlagshipVisitor?
        var isClosed = false
    }

    private init(
        client: ExperimentationClient?,
        environmentID: String,
        options: FlagshipOptions,
        store: ClientStore,
        consents: FlagshipConsentNotes,
        environment: ClientEnvironment
    ) {
        self.client = client
        service = client?.extras(as: FlagshipService.self)
        self.environmentID = environmentID
        self.options = options
        self.environment = environment
        started = environment.time.now
        state = store.state
        self.consents = consents
        let ownCache = FlagshipStateCache(state: store.state, scope: environmentID, time: environment.time)
        visitors = options.caches.visitors ?? ownCache
    }

    deinit { current.withLock { $0.watching?.cancel() } }

    /// Starts Flagship.
    ///
    /// It doesn't wait for the vendor, and never fails: ``status`` shows the outcome.
    ///
    /// - Parameters:
    ///   - environmentID: The environment, 20 characters from `0` to `9` and `a` to `v`; with any other form nothing is
    ///     started, as in the original SDK.
    ///   - apiKey: The key of the Decision API.
    ///   - options: The options.
    ///   - store: Where hits, flags, ids and files are kept; with `FlagshipSQLite` it may be omitted, and a file of the
    ///     application's own is used.
    ///   - transport: Sends requests; the platform's own if `nil`.
    ///   - environment: Clock, randomness, ids and log.
    /// - Returns: Flagship, started or not.
    public static func start(
        environmentID: String,
        apiKey: Secret,
        options: FlagshipOptions = FlagshipOptions(),
        store: ClientStore,
        transport: (any HTTPTransport)? = nil,
        environment: ClientEnvironment = ClientEnvironment()
    ) async -> Flagship {
        var environment = environment
        environment.log = FlagshipLevelledLog(sink: environment.log, wanted: options.logLevel)
        var store = store
        let consents = FlagshipConsentNotes(state: store.state, environmentID: environmentID, time: environment.time)
        var provider = FlagshipProvider(
            configuration: options.configuration(environmentID: environmentID, apiKey: apiKey),
            transport: transport
        )
        provider.consents = consents
        let mirrored = await FlagshipHitCacheStore(
            store.outbox,
            mirroredIn: options.caches,
            strategy: options.tracking.strategy,
            environmentID: environmentID,
            owedTo: provider.destination,
            time: environment.time,
            log: environment.log
        )
        if let mirrored { store.outbox = mirrored }
        var client: ExperimentationClient?
        if FlagshipConfiguration.isUsual(environmentID) {
            // Flags are read here by Flagship's rules, so exposures are recorded here too.
            var settings = ClientOptions(exposurePolicy: .manual)
            // The first visitor may have withdrawn consent since the last run.
            settings.waitsForUser = true
            do throws(ExperimentationError) {
                client = try await ExperimentationClient(
                    provider: provider,
                    store: store,
                    options: settings,
                    environment: environment
                )
            } catch {
                environment.log.log(.error, .initialization, "nothing is started: \(error)")
            }
        } else {
            environment.log.log(.error, .initialization, "the environment's id is not one; nothing is started")
        }
        let flagship = Flagship(
            client: client,
            environmentID: environmentID,
            options: options,
            store: store,
            consents: consents,
            environment: environment
        )
        flagship.watch()
        return flagship
    }

    // MARK: Status

    /// The status.
    public var status: FlagshipStatus { current.withLock { $0.status } }

    /// Whether anything but fetching works, which is so after the start and not in panic.
    var isActive: Bool {
        let status = status
        return status != .notInitialized && status != .panic
    }

    /// Sets the status to the closure's result; the closure receives the current status.
    ///
    /// The closure runs under the lock, so that its result doesn't replace a later result of another task.
    @discardableResult
    func set(_ find: (FlagshipStatus) -> FlagshipStatus) -> FlagshipStatus {
        announcements.change(\.status, of: current) { current in
            current.status = find(current.status)
            return current.status
        } announce: { status in
            environment.log.log(.info, .initialization, "the status is \(status.rawValue)")
            options.onStatusChanged?(status)
        }
    }

    /// Sets the status that corresponds to the client's.
    private func follow() {
        guard let client else { return }
        set { status in
            let canDecide = options.mode == .decisionAPI || client.rulesAge != nil
            return status.following(isDisabled: client.status == .disabled, canDecide: canDecide)
        }
    }

    private func watch() {
        guard let client else { return }
        follow()
        let events = client.statusEvents()
        let task = Task { [weak self] in
            // The event itself isn't used, because it may be older than a visitor's own fetch.
            for await _ in events { self?.follow() }
        }
        current.withLock { $0.watching = task }
    }

    // MARK: Visitors

    /// How a new visitor is kept.
    public enum Instance: String, Sendable, Hashable, CaseIterable {
        /// As ``Flagship/sharedVisitor``, replacing the previous one; only by the caller after
        /// ``Flagship/close(within:)``.
        case shared = "SHARED_INSTANCE"
        /// By the caller only.
        case new = "NEW_INSTANCE"
    }

    /// The last visitor created as a shared one; `nil` after ``close(within:)``.
    public var sharedVisitor: FlagshipVisitor? { current.withLock { $0.sharedVisitor } }

    /// Begins to build a visitor; with an empty id, a new one is generated each time.
    public func newVisitor(
        _ visitorID: String,
        hasConsented: Bool,
        instance: Instance = .shared
    ) -> FlagshipVisitorBuilder {
        FlagshipVisitorBuilder(flagship: self, visitorID: visitorID, hasConsented: hasConsented, instance: instance)
    }

    /// Keeps a visitor as the shared one, unless this instance is closed.
    func share(_ visitor: FlagshipVisitor) { current.withLock { if !$0.isClosed { $0.sharedVisitor = visitor } } }

    // MARK: Closing

    /// Delivers the waiting hits of all visitors, notifies the application of the exposures among them, and ends.
    ///
    /// Hits that can't be delivered stay in the store. Exposures that the application couldn't be notified of in time,
    /// because the main actor is busy, are still announced afterwards.
    public func close(within duration: Duration = .seconds(5)) async {
        let deadline = environment.time.instant.advanced(by: duration)
        await client?.shutdown(within: duration)
        if let observations = service?.observations {
            await environment.time.ends(by: deadline) { await observations.untilTold() }
        }
        let watching = current.withLock { current in
            // The visitor and this instance keep each other alive.
            (current.sharedVisitor, current.isClosed) = (nil, true)
            return current.watching
        }
        watching?.cancel()
    }
}
