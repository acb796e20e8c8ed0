import Experimentation
import Foundation
import GRDB
import Synchronization
import Testing

@testable import ExperimentationSQLite

@Suite("Deliveries that are too old")
struct ExpiringTests {
    private let folder = TemporaryFolder()

    /// The statements that a store has run.
    private final class Statements: Sendable {
        private let all = Mutex<[String]>([])

        init(of store: SQLiteStore) {
            store.commits.database.inDatabase { database in
                database.trace { [weak self] event in self?.all.withLock { $0.append("\(event)") } }
            }
        }

        var deletions: [String] { all.withLock { $0.filter { $0.hasPrefix("DELETE") } } }
    }

    @Test("another destination looks at an old backlog once, and never at its events")
    func backlogElsewhere() async throws {
        let former = try SQLiteStore(at: folder.file())
        try await former.file((0..<50).map { .sample("\($0)", at: noon - 36_000) })
        try await former.file([.sample("new")], to: [.alsoFiled])
        await former.close()
        let store = try SQLiteStore(at: folder.file())
        let statements = Statements(of: store)
        for _ in 0..<3 { #expect(try await store.expire(before: noon - 60, owedTo: .alsoFiled, now: noon) == 0) }
        #expect(statements.deletions.map { $0.prefix(20) } == ["DELETE FROM delivery"])
        #expect(try await store.expire(before: noon + 1, owedTo: .alsoFiled, now: noon) == 1)
        #expect(try await store.expire(before: noon - 60, owedTo: .filed, now: noon) == 50)
        await store.close()
    }

    @Test("an old event that was leased expires once its lease ends", arguments: StoreKind.allCases)
    func spared(kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append([.sample("old", at: noon - 3_600), .sample("new", user: "bob")])
        let lease = try #require(try await store.take(1))
        for _ in 0..<2 { #expect(try await store.expire(before: noon - 60, owedTo: .home, now: noon) == 0) }
        try await store.release(lease.token, pause: nil, now: noon)
        #expect(try await store.expire(before: noon - 60, owedTo: .home, now: noon) == 1)
        try await store.append([.sample("late", at: noon - 3_600)])
        #expect(try await store.expire(before: noon - 60, owedTo: .home, now: noon) == 1)
        #expect(try await store.ledger() == Ledger(accepted: 3, pending: 1, dropped: [.expired: 2]))
    }
}
