import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Synchronization
import Testing
import Waiting

@Suite("The accounts balance")
struct AccountsTests {
    @Test(
        "P09 accepted is delivered, pending, purged and dropped, after each step of any sequence",
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
                switch Int.random(in: 0..<10, using: &dice) {
                case 0...3:
                    // Some events are rejected, and some are owed to two destinations.
                    let owed: [Destination] = Bool.random(using: &dice) ? [.home, .away] : [.home]
                    let isHeld = Bool.random(using: &dice)
                    var events = (0..<Int.random(in: 1...6, using: &dice)).map {
                        Envelope.sample("\(step)-\($0)", user: user)
                    }
                    if Int.random(in: 0..<5, using: &dice) == 0 {
                        events.append(.sample("large", user: user, .custom(String(repeating: "x", count: 3_000))))
                    }
                    let refusals = try await store.append(
                        events.map { NewEvent($0, owedTo: owed.map { .init(to: $0, isHeld: isHeld) }) },
                        now: noon
                    )
                    accepted += refusals.count { $0 == nil } * owed.count
                case 4...5:
                    let destination: Destination = Bool.random(using: &dice) ? .home : .away
                    guard let lease = try await store.take(Int.random(in: 1...10, using: &dice), of: destination)
                    else { continue }
                    let settlements = lease.events.map { envelope in
                        switch Int.random(in: 0..<4, using: &dice) {
                        case 0: Settlement(of: envelope, .delivered)
                        case 1: Settlement(of: envelope, .retry(at: noon, attempts: 1, reason: "HTTP 400"))
                        case 2: Settlement(of: envelope, .dropped(.exhausted, detail: "HTTP 400"))
                        default: Settlement(of: envelope, .dropped(.rejected, detail: "HTTP 422"))
                        }
                    }
                    // Settling twice counts once.
                    for _ in 0..<2 { _ = try await store.settle(settlements, under: lease.token, now: noon) }
                case 6...7:
                    let isGranted = Bool.random(using: &dice)
                    _ = try await store.setConsent([ConsentChange(userID: user, isGranted: isGranted)])
                case 8:
                    _ = try await store.remove(
                        owedTo: .away,
                        as: Bool.random(using: &dice) ? .purged : .dropped(.closed)
                    )
                default:
                    let date = noon + Double.random(in: -1...0.01, using: &dice)
                    _ = try await store.expire(before: date, owedTo: .home, now: noon)
                }
                try await store.expectBalance(accepted)
                for destination in try await store.destinations() {
                    let ledger = try await store.ledger(of: destination)
                    #expect(ledger.isBalanced, "seed \(seed), step \(step): \(ledger)")
                }
            }
        }
    }

    @Test("P09 a purge counts even if rewriting the file fails, and the next one rewrites it")
    func failedRewriting() async throws {
        let folder = TemporaryFolder()
        let limits = StoreLimits(maximumCount: 11)
        let store = try SQLiteStore(at: folder.file(), options: .init(limits: limits, busyTimeout: .milliseconds(20)))
        try await store.append((0..<10).map { .sample("secret-\($0)", user: "ada") })
        try await store.append([.sample("b", user: "bob")])
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: folder.file().path, configuration: configuration)
        try await reader.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN")
            _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM event")
        }
        #expect(try await store.purge("ada") == 10)
        await #expect(throws: ExperimentationError.self) { try await store.finishErasing() }
        #expect(try await store.status(now: noon).ready == 1)
        try await reader.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try reader.close()
        #expect(try await store.purge("ada") == 0)
        try await store.finishErasing()
        #expect(try folder.occurrences(of: "secret-") == 0)
        try await store.append((0..<10).map { .sample("c\($0)", user: "cid") })
        #expect(try await store.ledger() == Ledger(accepted: 21, pending: 11, purged: 10))
    }

    @Test("accounts read together agree while another process accepts, delivers and purges")
    func onePicture() async throws {
        let folder = TemporaryFolder()
        let (one, other) = (try SQLiteStore(at: folder.file()), try SQLiteStore(at: folder.file()))
        let isDone = Atomic(false)
        async let work: Void = {
            defer { isDone.store(true, ordering: .releasing) }
            for number in 1...(isSoak ? 5_000 : 500) {
                let events = ["ada", "bob"].map { Envelope.sample("\($0)-\(number)", user: $0) }
                let owed: [NewEvent.Delivery] = [.init(to: .home), .init(to: .away, isHeld: number % 3 == 0)]
                _ = try await other.append(events.map { NewEvent($0, owedTo: owed) }, now: noon)
                if let lease = try await other.take(1 + number % 4, of: .home) { try await other.settle(lease) }
                if number % 5 == 0 { try await other.purge("bob") }
                await Task.yield()
            }
        }()
        var pictures = 0
        while !isDone.load(ordering: .acquiring) {
            let accounts = try await one.accounts(now: noon)
            let all = [(accounts.status, accounts.ledger)] + accounts.destinations.map { ($0.status, $0.ledger) }
            for (status, ledger) in all {
                #expect(ledger.isBalanced && ledger.pending == status.deliverable + status.held, "\(ledger) \(status)")
            }
            #expect(accounts.destinations.map(\.ledger).reduce(Ledger(), +) == accounts.ledger)
            // Both destinations are owed every event.
            #expect(Set(accounts.destinations.map(\.ledger.accepted)).count <= 1)
            pictures += 1
            await Task.yield()
        }
        try await work
        #expect(pictures > 10)
    }

    @Test("an empty file has accounts without destinations")
    func noAccounts() async throws {
        let folder = TemporaryFolder()
        let accounts = try await SQLiteStore(at: folder.file()).accounts(now: noon)
        #expect(accounts == StoreAccounts(status: OutboxStatus(), ledger: Ledger(), destinations: []))
    }
}
