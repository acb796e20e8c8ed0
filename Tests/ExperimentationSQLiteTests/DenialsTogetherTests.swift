import Experimentation
import Foundation
import GRDB
import Synchronization
import Testing
import Waiting

@testable import ExperimentationSQLite

@Suite("Denials of many users at once", .timeLimit(.minutes(10)))
struct DenialsTogetherTests {
    private let folder = TemporaryFolder()

    /// Counts what a connection commits.
    private final class Commits: TransactionObserver {
        private let commits = Mutex(0)
        var count: Int { commits.withLock { $0 } }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseDidCommit(_ database: Database) { commits.withLock { $0 += 1 } }
        func databaseDidRollback(_ database: Database) {}
    }

    @Test("a thousand that arrive together are a few transactions, and each user's events are gone")
    func together() async throws {
        let store = try SQLiteStore(at: folder.file(), options: .init(busyTimeout: .seconds(60)))
        let users = (0..<1_000).map { "user-\($0)" }
        try await store.file(users.map { .sample($0, user: $0) })
        let commits = Commits()
        store.commits.database.add(transactionObserver: commits, extent: .databaseLifetime)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.file().path, configuration: configuration)
        // While another process writes, all of them have to wait.
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for user in users {
                group.addTask { try await store.setConsent([ConsentChange(userID: user, isGranted: false)]).removed }
            }
            try await eventually("all but those of the first transaction wait") {
                store.commits.waiting.withLock { $0.jobs.count } >= users.count - 256
            }
            try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
            #expect(try await group.reduce(0, +) == users.count)
        }
        #expect(commits.count <= 8, "\(commits.count) transactions")
        #expect(try await store.ledger() == Ledger(accepted: users.count, purged: users.count))
    }
}
