import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing

@Suite("The accounts balance")
struct AccountsTests {
    @Test(
        "P09 accepted is delivered, pending, purged and dropped, after each step of anything",
        arguments: StoreKind.allCases
    )
    func balance(_ kind: StoreKind) async throws {
        for seed in 0..<(isSoak ? 200 : 15) {
            let folder = TemporaryFolder()
            let store = try kind.open(folder, limits: StoreLimits(maximumCount: 25, maximumEventBytes: 2_000))
            var dice = SplitMix(seed: seed)
            var accepted = 0
            for step in 0..<80 {
                let user = "u\(Int.random(in: 0..<3, using: &dice))"
                switch Int.random(in: 0..<9, using: &dice) {
                case 0...3:
                    // Now and then a call that is refused as a whole.
                    let count = Int.random(in: 1...6, using: &dice)
                    var events = (0..<count).map { Envelope.sample("\(step)-\($0)", user: user) }
                    let isTooLarge = Int.random(in: 0..<5, using: &dice) == 0
                    if isTooLarge {
                        events.append(.sample("large", user: user, .custom(String(repeating: "x", count: 3_000))))
                    }
                    if (try? await store.append(events, isHeld: Bool.random(using: &dice))) != nil { accepted += count }
                case 4...5:
                    let leased = try await store.leaseAll(Int.random(in: 1...10, using: &dice))
                    let settlements = leased.map { id -> Settlement in
                        switch Int.random(in: 0..<4, using: &dice) {
                        case 0: .delivered(id: id)
                        case 1: .retry(id: id, at: noon, attempts: 1, reason: "HTTP 400")
                        case 2: .dropped(id: id, reason: .exhausted, detail: "HTTP 400")
                        default: .dropped(id: id, reason: .rejected, detail: "HTTP 422")
                        }
                    }
                    // What is settled twice counts once.
                    try await store.settle(settlements)
                    try await store.settle(settlements)
                case 6: try await store.release(userID: user)
                case 7: _ = try await store.purge(userID: user)
                default: _ = try await store.expire(before: noon + Double.random(in: -1...0.01, using: &dice))
                }
                try await store.expectBalance(accepted)
            }
        }
    }

    @Test("P09 a purge whose rewriting fails has still counted, and the next one rewrites")
    func failedRewriting() async throws {
        let folder = TemporaryFolder()
        let limits = StoreLimits(maximumCount: 11)
        let store = try SQLiteStore(at: folder.file(), limits: limits, busyTimeout: .milliseconds(20))
        try await store.append((0..<10).map { .sample("secret-\($0)", user: "ada") }, isHeld: false)
        try await store.append([.sample("b", user: "bob")], isHeld: false)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: folder.file().path, configuration: configuration)
        try await reader.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN")
            _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM event")
        }
        await #expect(throws: ExperimentationError.self) { try await store.purge(userID: "ada") }
        #expect(try await store.status(now: noon).ready == 1)
        try await reader.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try reader.close()
        #expect(try await store.purge(userID: "ada") == 0)
        #expect(try folder.occurrences(of: "secret-") == 0)
        try await store.append((0..<10).map { .sample("c\($0)", user: "cid") }, isHeld: false)
        #expect(try await store.ledger() == Ledger(accepted: 21, pending: 11, purged: 10))
    }
}
