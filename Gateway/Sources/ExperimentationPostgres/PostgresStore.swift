import Experimentation
import Foundation
import Synchronization

/// Events and state in PostgreSQL, shared by any number of machines.
///
/// ```swift
/// let store = try await PostgresStore.open("postgresql://app@db.example/app?sslmode=verify-full&sslrootcert=system")
/// let client = try await ExperimentationClient(provider: provider, store: store.clientStore)
/// ```
///
/// Passwords belong into libpq's password file or a client certificate's place; one in the URL works, and is never shown. A
/// database on another machine must be asked for encryption (`sslmode=require` or more). Nothing of a session is used,
/// so a pooler that gives each transaction another connection does no harm.
///
/// The machines' clocks must agree within a minute: leases are compared with each machine's own.
public final class PostgresStore: Sendable {
    let pool: ConnectionPool
    private let events: PostgresOutboxStore
    private let watches = Mutex<[DatabaseWatch]>([])

    /// Where events wait.
    public var outbox: any OutboxStore { events }
    /// Where the rest is kept.
    public let state: any StateStore
    /// Both, for a client.
    public var clientStore: ClientStore { ClientStore(outbox: outbox, state: state) }

    private init(_ pool: ConnectionPool, _ opened: StoreSchema.Opened, _ options: PostgresStoreOptions) {
        self.pool = pool
        events = PostgresOutboxStore(pool, opened, options)
        state = PostgresStateStore(pool)
    }

    /// Opens a store, and makes its tables or brings them to this version.
    ///
    /// - Parameters:
    ///   - url: The database, as libpq takes it.
    ///   - options: How it is used.
    /// - Returns: The store.
    /// - Throws: `ErrorCode.configuration` for a URL or options that make no sense; `ErrorCode.store` if the database can't be
    ///   reached, or was written by a newer version.
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
            return PostgresStore(pool, try await StoreSchema.open(pool, shards: options.shards), options)
        } catch {
            pool.close()
            throw error
        }
    }

    /// Whether events of before a moment wait that could be delivered and that no machine holds.
    ///
    /// One that is gone may have left them; whoever has time can have its client flush. Costs one look at an index for each
    /// lane.
    ///
    /// - Parameters:
    ///   - date: Younger ones may wait for others, to be sent with them.
    ///   - now: The time.
    /// - Returns: Whether there are any.
    /// - Throws: `ErrorCode.store`.
    public func hasUnclaimedEvents(before date: Date, now: Date) async throws(ExperimentationError) -> Bool {
        try await events.hasUnclaimedEvents(before: date, now: now)
    }

    /// Whether an event waits in the store.
    ///
    /// For a caller that never heard what became of an acceptance. Looks at the user's events alone.
    ///
    /// - Parameters:
    ///   - id: The event's id.
    ///   - userID: Whose event it is.
    /// - Returns: Whether it is there; an event that has been delivered isn't any more.
    /// - Throws: `ErrorCode.store`.
    public func isWaiting(_ id: String, of userID: String) async throws(ExperimentationError) -> Bool {
        try await events.isWaiting(id, of: userID)
    }

    /// Whether the database didn't answer when it was last looked at; known once ``sharing(_:lease:)`` has been called and a
    /// client was created with it.
    ///
    /// It is looked at each second, and waited for at most two seconds.
    public var isAway: Bool { watches.withLock { $0.contains { $0.isAway } } }

    /// Begins to watch the database, for as long as the store is open.
    func watch(by watch: DatabaseWatch) {
        watches.withLock { $0.append(watch) }
        watch.start()
    }

    /// Lets go of the lanes that were taken through this store, and of the connections.
    ///
    /// What is under way is finished, everything later fails.
    public func close() async {
        for watch in watches.withLock({ $0 }) { watch.stop() }
        await events.letGo()
        pool.close()
    }
}
