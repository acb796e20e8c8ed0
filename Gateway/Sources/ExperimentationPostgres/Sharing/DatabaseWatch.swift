import Experimentation
import Foundation
import Synchronization

/// Watches a database on a connection and a thread of its own: whether it answers, and whether what is published changed.
///
/// Notifications make it quick. What is true is the revision, which is read each second besides: behind a pooler none arrive.
final class DatabaseWatch: Sendable {
    /// What there is to tell.
    enum Sight: Sendable, Equatable {
        /// The database doesn't answer.
        case away
        /// It answers, and this is the revision of what is published.
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

    /// Creates a watch that does nothing before ``start()``.
    ///
    /// - Parameters:
    ///   - pool: Whose database it watches.
    ///   - name: The account whose rules are published.
    ///   - told: Told of each change of what is seen, on the watch's thread.
    init(_ pool: ConnectionPool, name: String, told: @escaping @Sendable (Sight) -> Void) {
        address = pool.address
        schema = pool.schema
        self.name = name
        self.told = told
    }

    /// Whether the database didn't answer when it was last asked.
    var isAway: Bool { lost.load(ordering: .relaxed) }

    /// Begins to watch, until ``stop()``.
    func start() {
        let thread = Thread { [self] in run() }
        thread.name = "postgres-watch"
        thread.start()
    }

    /// Ends the thread within a second.
    func stop() { isOver.store(true, ordering: .relaxed) }

    private func run() {
        var connection: Connection?
        var last: Sight?
        while !isOver.load(ordering: .relaxed) {
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
            if sight != last { told(sight) }
            last = sight
            let next = Deadline(Self.interval)
            if let present = connection {
                do throws(ConnectionFailure) { _ = try present.notifications(until: next) } catch { connection = nil }
            } else {
                Thread.sleep(forTimeInterval: 0.2)
            }
        }
    }

    private func listening() throws(ConnectionFailure) -> Connection {
        let deadline = Deadline(Self.patience)
        let connection = try Connection(to: address, by: deadline)
        // The schema's name is checked when the store is configured.
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
