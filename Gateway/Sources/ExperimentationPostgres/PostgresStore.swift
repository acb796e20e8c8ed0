import Experimentation
import Foundation
import Synchronization

/// A store for events and state in PostgreSQL, shared by any number of machines.
///
/// ```swift
/// let store = try await PostgresStore.open("postgresql://app@db.example/app?sslmode=verify-full&sslrootcert=system")
/// let client = try await ExperimentationClient(provider: provider, store: store.clientStore)
/// ```
///
/// Use libpq's password file or a client certificate; a password in the URL works too, and is never shown. A database
/// on another machine must be accessed with encryption (`sslmode=require` or stricter). The store uses no session
/// state, so transaction-level connection poolers work.
///
/// The machines' clocks must agree within a minute, because each machine compares leases with its own clock.
public final class PostgresStore: Sendable {
    let pool: ConnectionPool
    private let events: PostgresOutboxStore
    private let watches = Mutex<[DatabaseWatch]>([])
    private let rules = Mutex<SharedRules?>(nil)

    /// The events.
    public var outbox: any OutboxStore { events }
    /// Everything else that is stored.
    public let state: any StateStore
    /// Both stores, for a client.
    public var clientStore: ClientStore { ClientStore(outbox: outbox, state: state) }

    private init(_ pool: ConnectionPool, _ opened: StoreSchema.Opened, _ options: PostgresStoreOptions) {
        self.pool = pool
        events = PostgresOutboxStore(pool, opened, options)
        state = PostgresStateStore(pool)
    }

    /// Opens a store, creating or migrating its tables.
    ///
    /// Opening the tables may take a minute, or ``PostgresStoreOptions/patience`` if that is longer: another machine
    /// may be upgrading them. If the database can't be reached, this fails as soon as any other operation would.
    ///
    /// - Parameters:
    ///   - url: The database, in libpq's format.
    ///   - options: The options.
    /// - Returns: The store.
    /// - Throws: `ErrorCode.configuration` for an invalid URL or invalid options; `ErrorCode.store` if the database
    ///   can't be reached, or was written by a newer version.
    public static func open(
        _ url: String,
        options: PostgresStoreOptions = PostgresStoreOptions()
    ) async throws(ExperimentationError) -> PostgresStore {
        try options.check()
        let address = try PostgresAddress(url)
        let pool = ConnectionPool(
            to: address,
            schema: options.schema,
            connections: options.connections,
            patience: options.patience
        )
        do throws(ExperimentationError) {
            let opened = try await StoreSchema.open(pool, shards: options.shards, within: options.openingLimit)
            return PostgresStore(pool, opened, options)
        } catch {
            pool.close()
            throw error
        }
    }

    /// Whether deliverable events older than a date are waiting in lanes that no machine holds.
    ///
    /// A machine that is gone may have left them; any other can flush its client to deliver them. Costs one index
    /// lookup per lane.
    ///
    /// - Parameters:
    ///   - date: Younger events are ignored: they may be waiting to fill a batch.
    ///   - now: The current time.
    /// - Returns: Whether there are any.
    /// - Throws: `ErrorCode.store`.
    public func hasUnclaimedEvents(before date: Date, now: Date) async throws(ExperimentationError) -> Bool {
        try await events.hasUnclaimedEvents(before: date, now: now)
    }

    /// Whether an event was accepted although its acceptance failed.
    ///
    /// For a caller that never learned the outcome. Waits, within the store's patience, for acceptances that the server
    /// is still carrying out, and looks only at the user's events.
    ///
    /// - Parameters:
    ///   - id: The event's id.
    ///   - userID: The id of the event's user.
    /// - Returns: Whether it was accepted. An event that was accepted through another instance of this type and has
    ///   since been delivered can't be found any more.
    /// - Throws: `ErrorCode.store`, also if the server is still carrying it out.
    public func wasAccepted(_ id: String, of userID: String) async throws(ExperimentationError) -> Bool {
        try await events.wasAccepted(id, of: userID)
    }

    /// Whether the database didn't answer the last check; known once a client was created with the result of
    /// ``sharing(_:lease:)``.
    ///
    /// The store checks the database each second, and waits for at most two seconds.
    public var isAway: Bool { watches.withLock { $0.contains { $0.isAway } } }

    /// The latest revision of the shared rules that this machine knows of; 0 before the first.
    public var rulesRevision: Int64 { rules.withLock { $0?.revision ?? 0 } }

    /// The revision of the shared rules with which this machine last learned that the vendor's kill switch is on; 0
    /// before.
    ///
    /// If rules are fetched once for all machines, their revision is the ``UserDecisions/rulesValidator``. It only
    /// grows, with each change of the rules or of the switch.
    public var disabledRevision: Int64 { rules.withLock { $0?.disabledRevision ?? 0 } }

    /// Watches the database until the store is closed.
    func watch(by watch: DatabaseWatch, over shared: SharedRules?) {
        watches.withLock { $0.append(watch) }
        if let shared { rules.withLock { $0 = shared } }
        watch.start()
    }

    /// Releases the lanes that were taken through this store, and closes the connections.
    ///
    /// Operations under way are completed; later ones fail.
    public func close() async {
        for watch in watches.withLock({ $0 }) { watch.stop() }
        await events.letGo()
        pool.close()
    }
}
