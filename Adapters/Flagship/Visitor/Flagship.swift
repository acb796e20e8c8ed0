import AdapterKit
import Experimentation
import Foundation
import Synchronization

/// Flagship in its own words, over the neutral client: what an application that used the vendor's SDK moves to call by
/// call.
///
/// ```swift
/// let flagship = await Flagship.start(environmentID: "bkk9glocmjcg0vtmdlng", apiKey: "key", store: store)
/// let visitor = await flagship.newVisitor("u-1", hasConsented: true).context(["vip": true]).build()
/// await visitor.fetchFlags()
/// let color = visitor.flag("btnColor").value(default: "red")
/// await flagship.close()
/// ```
///
/// There is no shared instance: make one, pass it on, close it at the end.
public final class Flagship: Sendable {
    /// The neutral client beneath; `nil` if nothing was started.
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
    private let statuses: FlagshipAnnouncer<FlagshipStatus>
    private let machine = Mutex(FlagshipStatusMachine())
    private let shared = Mutex<FlagshipVisitor?>(nil)
    private let watching = Mutex<Task<Void, Never>?>(nil)

    private init(
        client: ExperimentationClient?,
        environmentID: String,
        options: FlagshipOptions,
        store: ClientStore,
        environment: ClientEnvironment
    ) {
        self.client = client
        service = client?.extras(as: FlagshipService.self)
        self.environmentID = environmentID
        self.options = options
        self.environment = environment
        started = environment.time.now
        state = store.state
        visitors = options.caches.visitors ?? FlagshipStateCache(state: store.state, scope: environmentID)
        statuses = FlagshipAnnouncer(options.onStatusChanged)
    }

    deinit { watching.withLock { $0?.cancel() } }

    /// Starts Flagship.
    ///
    /// It doesn't wait for the vendor, and never fails: ``status`` tells the outcome.
    ///
    /// - Parameters:
    ///   - environmentID: The environment, 20 characters from `0` to `9` and `a` to `v`; with another one nothing is
    ///     started, as in the original.
    ///   - apiKey: The key of the Decision API.
    ///   - options: How it behaves.
    ///   - store: Where hits, flags, ids and files are kept; with `FlagshipSQLite` it may be left out, for a file of the
    ///     application's own.
    ///   - transport: What exchanges requests; the platform's own if `nil`.
    ///   - environment: Time, chance, ids and a place for messages.
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
        let provider = FlagshipProvider(
            configuration: options.configuration(environmentID: environmentID, apiKey: apiKey),
            transport: transport
        )
        let mirrored = await FlagshipHitCacheStore(
            store.outbox,
            mirroredIn: options.caches,
            strategy: options.tracking.strategy,
            environmentID: environmentID,
            owedTo: provider.destination,
            time: environment.time
        )
        if let mirrored { store.outbox = mirrored }
        guard FlagshipConfiguration.isUsual(environmentID) else {
            environment.log.log(.error, .initialization, "the environment's id is not one; nothing is started")
            return Flagship(
                client: nil,
                environmentID: environmentID,
                options: options,
                store: store,
                environment: environment
            )
        }
        var client: ExperimentationClient?
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
        let flagship = Flagship(
            client: client,
            environmentID: environmentID,
            options: options,
            store: store,
            environment: environment
        )
        flagship.watch()
        return flagship
    }

    // MARK: Status

    /// The status.
    public var status: FlagshipStatus { machine.withLock { $0.status } }

    func set(_ status: FlagshipStatus) {
        guard machine.withLock({ $0.set(status) }) else { return }
        environment.log.log(.info, .initialization, "the status is \(status.rawValue)")
        statuses.announce(status)
    }

    /// Whether there are rules to decide by, of this run or an earlier one.
    private var hasRules: Bool {
        let probe = client?.details("", default: false, for: User(id: "probe", consent: .denied))
        return probe?.errorCode != .providerNotReady
    }

    /// The status that follows from the client's.
    func statusFollowing(_ status: ProviderStatus) -> FlagshipStatus {
        if status == .disabled { return .panic }
        if options.mode == .bucketing, !hasRules { return .initializing }
        return .initialized
    }

    private func watch() {
        guard let client else { return }
        set(statusFollowing(client.status))
        let events = client.statusEvents()
        let task = Task { [weak self] in
            for await event in events {
                guard let self else { return }
                // What a visitor's own fetch has shown is newer than an event that was on its way.
                self.set(self.statusFollowing(self.client?.status ?? event.status))
            }
        }
        watching.withLock { $0 = task }
    }

    // MARK: Visitors

    /// How a new visitor is kept.
    public enum Instance: String, Sendable, Hashable, CaseIterable {
        /// As ``Flagship/sharedVisitor``, in place of the one before.
        case shared = "SHARED_INSTANCE"
        /// By the caller alone.
        case new = "NEW_INSTANCE"
    }

    /// The visitor made last as a shared one.
    public var sharedVisitor: FlagshipVisitor? { shared.withLock { $0 } }

    /// Begins to describe a visitor.
    ///
    /// - Parameters:
    ///   - visitorID: The id; one is made if it is empty, a new one each time.
    ///   - hasConsented: Whether the visitor has agreed.
    ///   - instance: How the visitor is kept.
    /// - Returns: What makes the visitor.
    public func newVisitor(
        _ visitorID: String,
        hasConsented: Bool,
        instance: Instance = .shared
    ) -> FlagshipVisitorBuilder {
        FlagshipVisitorBuilder(flagship: self, visitorID: visitorID, hasConsented: hasConsented, instance: instance)
    }

    func share(_ visitor: FlagshipVisitor) { shared.withLock { $0 = visitor } }

    // MARK: The end

    /// Delivers what waits, of all visitors, and ends.
    ///
    /// What can't be delivered stays in the store.
    ///
    /// - Parameter duration: How long it takes at most.
    public func close(within duration: Duration = .seconds(5)) async {
        await client?.shutdown(within: duration)
        watching.withLock { $0?.cancel() }
    }

    // MARK: Upgrading

    /// Takes over what the vendor's SDK for iOS kept of a visitor, so that no visitor changes variations by the upgrade.
    ///
    /// - Parameter record: The value of the column `data_visitor` of its table of visitors.
    /// - Throws: `ErrorCode.parseError` for what isn't a record.
    public func importVisitor(_ record: Data) async throws(ExperimentationError) {
        let visitor = try FlagshipVisitorRecord(record)
        guard visitor.consent else { return }
        await visitors.cacheVisitor(visitor.visitorID, visitor.json)
    }

    /// Takes over hits that the vendor's SDK for iOS had not sent yet.
    ///
    /// - Parameters:
    ///   - records: The values of the column `data_hit` of its table of hits, by id.
    ///   - environmentID: The environment; hits of another one are left out.
    ///   - apiKey: The key that Flagship is then started with.
    ///   - options: The options that it is then started with.
    ///   - store: The store that it is then started with.
    ///   - now: The time; what is older than four hours is left out.
    /// - Returns: How many were taken over.
    /// - Throws: `ErrorCode.store` when the store can't be written; then nothing was taken over.
    @discardableResult
    public static func importHits(
        _ records: [String: Data],
        environmentID: String,
        apiKey: Secret,
        options: FlagshipOptions = FlagshipOptions(),
        into store: ClientStore,
        now: Date
    ) async throws(ExperimentationError) -> Int {
        let oldest = FlagshipHitRecord.oldest(at: now)
        let envelopes = records.compactMap { id, data -> Envelope? in
            guard let json = try? JSON.parse(data), let record = try? FlagshipHitRecord(json), record.time > oldest,
                record.belongs(to: environmentID)
            else { return nil }
            return record.envelope(id: id)
        }
        .sorted { ($0.date, $0.id) < ($1.date, $1.id) }
        let configuration = options.configuration(environmentID: environmentID, apiKey: apiKey)
        let destination = FlagshipProvider(configuration: configuration).destination
        let refusals = try await store.outbox.append(envelopes.map { NewEvent($0, to: destination) }, now: now)
        return refusals.count { $0 == nil }
    }
}
