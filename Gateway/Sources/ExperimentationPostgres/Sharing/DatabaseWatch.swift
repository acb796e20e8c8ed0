import Experimentation
import Foundation
import Synchronization

/// Watches a database over a connection and thread of its own: whether it answers, and whether published rules have
/// changed.
///
/// Notifications only make the watch notice sooner. It also reads the revision once a second, because notifications
/// don't pass through a pooler.
final class DatabaseWatch: Sendable {
    /// What the watch reports.
    enum Sight: Sendable, Equatable {
        /// The database doesn't answer.
        case away
        /// The database answers; this is the revision of the published rules.
        case revision(Int64)
    }

    private let address: PostgresAddress
    private let schema: String
    private let name: String
    private let isOver = Atomic<Bool>(false)
    private let lost = Atomic<Bool>(false)
    private let told: @Sendable (Sight) -> Void

    private static let interval = Duration.seconds(1)
    private static let patience = Duration.seconds(2)

    /// Creates a watch, which does nothing until ``start()``.
    ///
    /// - Parameters:
    ///   - pool: The pool of connections to the database.
    ///   - name: The account whose rules are published.
    ///   - told: Called on the watch's thread after each check, whether or not anything has changed, so that a listener
    ///     that couldn't act on a change is notified again.
    init(_ pool: ConnectionPool, name: String, told: @escaping @Sendable (Sight) -> Void) {
        address = pool.address
        schema = pool.schema
        self.name = name
        self.told = told
    }

    /// Whether the database failed to answer the last check.
    var isAway: Bool { lost.load(ordering: .relaxed) }

    /// Starts watching, until ``stop()`` or until the watch is released.
    func start() {
        let thread = Thread { [weak self] in
            var connection: Connection?
            while let self, !isOver.load(ordering: .relaxed) { look(over: &connection) }
        }
        thread.name = "postgres-watch"
        thread.start()
    }

    /// Stops watching; the thread ends within a second.
    func stop() { isOver.store(true, ordering: .relaxed) }

    /// Checks once, and waits until it is time for the next check.
    private func look(over connection: inout Connection?) {
        var sight = Sight.away
        do throws(ConnectionFailure) {
            let present: Connection
            if let connection { present = connection } else { present = try listening() }
            connection = present
            sight = .revision(try revision(present))
        } catch {
            connection = nil
        }
        lost.store(sight == .away, ordering: .relaxed)
        told(sight)
        let next = Deadline(Self.interval)
        if let present = connection {
            do throws(ConnectionFailure) { _ = try present.notifications(until: next) } catch { connection = nil }
        } else {
            Thread.sleep(forTimeInterval: 0.2)
        }
    }

    private func listening() throws(ConnectionFailure) -> Connection {
        let deadline = Deadline(Self.patience)
        let connection = try Connection.opened(to: address, by: deadline)
        // The schema's name was validated when the store was configured.
        _ = try connection.run([Statement("LISTEN \"\(schema)\"")], by: deadline)
        return connection
    }

    private func revision(_ connection: Connection) throws(ConnectionFailure) -> Int64 {
        let answers = try connection.run(
            [Statement("SELECT revision FROM \"\(schema)\".published WHERE name = $1", .outside(name))],
            by: Deadline(Self.patience)
        )
        return answers[0].first?.whole(0) ?? 0
    }
}
