import Experimentation
import ExperimentationSQLite
import Foundation
import Testing

@Suite("Every outbox keeps the contract")
struct OutboxContractTests {
    private let folder = TemporaryFolder()

    @Test("events come back whole, numbered in the order of acceptance", arguments: StoreKind.allCases)
    func roundTrip(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        var first = Envelope.sample("a", user: "zoë\u{0}\u{1F469}\u{200D}\u{1F680}'; DROP TABLE event; --")
        first.surface = "home"
        first.attributeChanges = ["plan": "pro", "age": .null, "deep": ["x": [1, 2.5, true]]]
        first.event.attributes = ["quote": "\"\\\u{7}", "big": .double(1e308), "many": .int(.max)]
        let second = Envelope.sample("b", .purchase(Order(id: "o-1", total: 9.99)), at: noon + 0.25)
        try await store.append([first], isHeld: false)
        try await store.append([second], isHeld: false)
        let leased = try await store.lease(10, bytes: .max, now: noon, until: noon + 60)
        first.sequence = 1
        var expected = second
        expected.sequence = 2
        #expect(leased == [first, expected])
        try await store.expectBalance(2)
    }

    @Test("an empty outbox gives nothing and counts nothing", arguments: StoreKind.allCases)
    func empty(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        #expect(try await store.leaseAll().isEmpty)
        #expect(try await store.purge(userID: "ada") == 0)
        #expect(try await store.expire(before: .distantFuture) == 0)
        try await store.settle([])
        try await store.append([], isHeld: false)
        #expect(try await store.status(now: noon) == OutboxStatus())
        #expect(try await store.ledger() == Ledger())
    }

    @Test("what is leased isn't given again until the lease is over", arguments: StoreKind.allCases)
    func leases(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append([.sample("a"), .sample("b", user: "bob")], isHeld: false)
        #expect(try await store.lease(1, bytes: .max, now: noon, until: noon + 60).map(\.id) == ["a"])
        #expect(try await store.leaseAll() == ["b"])
        #expect(try await store.leaseAll(at: noon + 59.9).isEmpty)
        #expect(try await store.status(now: noon) == status(leased: 2, of: store))
        #expect(try await store.leaseAll(at: noon + 60) == ["a", "b"])
    }

    @Test("a user's later events wait while an earlier one is leased or delayed", arguments: StoreKind.allCases)
    func order(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append([.sample("a1"), .sample("b1", user: "bob"), .sample("a2")], isHeld: false)
        #expect(try await store.lease(1, bytes: .max, now: noon, until: noon + 60).map(\.id) == ["a1"])
        #expect(try await store.leaseAll() == ["b1"])
        try await store.settle([.retry(id: "a1", at: noon + 5, attempts: 1, reason: "HTTP 400")])
        #expect(try await store.leaseAll(at: noon + 4).isEmpty)
        let again = try await store.lease(9, bytes: .max, now: noon + 5, until: noon + 60)
        #expect(again.map(\.id) == ["a1", "a2"])
        #expect(again.map(\.attempts) == [1, 0])
    }

    @Test("who delivers in order may take more beside what is in hand; others may not", arguments: StoreKind.allCases)
    func besides(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append((1...4).map { .sample("a\($0)") }, isHeld: false)
        func take(at now: Date, goesOn: Bool) async throws -> [String] {
            try await store.lease(LeaseRequest(of: 1, now: now, until: noon + 60, goesOn: goesOn)).joined().map(\.id)
        }
        #expect(try await take(at: noon, goesOn: false) == ["a1"])
        #expect(try await take(at: noon, goesOn: true) == ["a2"])
        #expect(try await take(at: noon + 1, goesOn: true) == [])
        #expect(try await take(at: noon, goesOn: false) == [])
    }

    @Test("what goes back to the store holds back what would go on beside it", arguments: StoreKind.allCases)
    func besideWhatGoesBack(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append((1...5).map { .sample("a\($0)") }, isHeld: false)
        var wanted = LeaseRequest(batches: 2, of: 1, now: noon, until: noon + 60)
        func take() async throws -> [String] { try await store.lease(wanted).joined().map(\.id) }
        #expect(try await take() == ["a1", "a2"])
        wanted.goesOn = true
        #expect(try await take() == ["a3", "a4"])
        try await store.settle([.delivered(id: "a1"), .retry(id: "a2", at: noon + 5, attempts: 1, reason: "HTTP 400")])
        #expect(try await take() == [])
        wanted = LeaseRequest(batches: 9, of: 1, now: noon + 60, until: noon + 120)
        #expect(try await take() == ["a2", "a3", "a4", "a5"])
    }

    @Test("what was held when a lease passed it comes first when it is let go", arguments: StoreKind.allCases)
    func besideWhatIsReleased(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append([.sample("b1", user: "bob")], isHeld: true)
        try await store.append((1...3).map { .sample("a\($0)") }, isHeld: false)
        var wanted = LeaseRequest(batches: 2, of: 1, now: noon, until: noon + 60)
        func take() async throws -> [String] { try await store.lease(wanted).joined().map(\.id) }
        #expect(try await take() == ["a1", "a2"])
        try await store.release(userID: "bob")
        try await store.append([.sample("b2", user: "bob")], isHeld: false)
        wanted = LeaseRequest(batches: 9, of: 1, now: noon, until: noon + 60, goesOn: true)
        let taken = try await take()
        #expect(taken.filter { $0.hasPrefix("b") } == ["b1", "b2"])
    }

    @Test("a lease gives no more bytes than asked for, but always one event", arguments: StoreKind.allCases)
    func bytes(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append((1...3).map { .sample("\($0)") }, isHeld: false)
        let each = try await store.status(now: noon).bytes / 3
        #expect(try await store.lease(9, bytes: 1, now: noon, until: noon + 1).map(\.id) == ["1"])
        #expect(try await store.lease(9, bytes: each * 2, now: noon + 1, until: noon + 2).map(\.id) == ["1", "2"])
        #expect(try await store.lease(0, bytes: .max, now: noon + 2, until: noon + 3).isEmpty)
    }

    @Test("settling ends leases and keeps accounts, once", arguments: StoreKind.allCases)
    func settling(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append((1...5).map { .sample("\($0)", user: "u\($0)") }, isHeld: false)
        _ = try await store.leaseAll()
        let settlements: [Settlement] = [
            .delivered(id: "1"), .dropped(id: "2", reason: .rejected, detail: "no such name"),
            .retry(id: "3", at: noon + 10, attempts: 2, reason: "HTTP 400"),
            .dropped(id: "4", reason: .init(rawValue: "of-its-own"), detail: ""), .delivered(id: "unknown"),
        ]
        try await store.settle(settlements)
        try await store.settle(settlements)
        let expected = Ledger(
            accepted: 5,
            delivered: 1,
            pending: 2,
            dropped: [.rejected: 1, .init(rawValue: "of-its-own"): 1]
        )
        #expect(try await store.ledger() == expected)
        var status = try await store.status(now: noon)
        #expect(status.failures == ["HTTP 400": 1])
        #expect(status.nextAttempt == noon + 10)
        status = try await store.status(now: noon + 10)
        #expect(status.ready == 1 && status.leased == 1 && status.delayed == 0)
        try await store.expectBalance()
    }

    @Test("held events wait for their user's release, with their times and their order", arguments: StoreKind.allCases)
    func holding(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append([.sample("a1", at: noon - 60)], isHeld: true)
        try await store.append([.sample("b1", user: "bob")], isHeld: true)
        try await store.append([.sample("a2")], isHeld: false)
        #expect(try await store.status(now: noon).held == 2)
        #expect(try await store.leaseAll() == ["a2"])
        try await store.settle([.retry(id: "a2", at: noon, attempts: 0, reason: "")])
        try await store.release(userID: "ada")
        let leased = try await store.lease(9, bytes: .max, now: noon, until: noon + 60)
        #expect(leased.map(\.id) == ["a1", "a2"])
        #expect(leased.first?.date == noon - 60)
        try await store.expectBalance(3)
    }

    @Test("a purge takes a user's events, but not the consent signal nor others'", arguments: StoreKind.allCases)
    func purging(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append([.sample("a1"), .sample("b1", user: "bob")], isHeld: false)
        try await store.append([.sample("a2")], isHeld: true)
        try await store.append([.sample("a3", TrackingEvent(.consentChanged(granted: false)))], isHeld: false)
        #expect(try await store.lease(1, bytes: .max, now: noon, until: noon + 60).map(\.id) == ["a1"])
        #expect(try await store.purge(userID: "ada") == 2)
        // The verdict on what was under way comes too late to count.
        try await store.settle([.delivered(id: "a1")])
        #expect(try await store.leaseAll() == ["b1", "a3"])
        #expect(try await store.ledger() == Ledger(accepted: 4, pending: 2, purged: 2))
    }

    @Test("what is too old is dropped, unless it is under way", arguments: StoreKind.allCases)
    func expiry(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        let envelopes = (0..<4).map { Envelope.sample("\($0)", user: "u\($0)", at: noon + Double($0)) }
        try await store.append(envelopes, isHeld: false)
        #expect(try await store.lease(1, bytes: .max, now: noon, until: noon + 60).map(\.id) == ["0"])
        #expect(try await store.expire(before: noon + 2) == 1)
        #expect(try await store.expire(before: noon + 2) == 0)
        #expect(try await store.leaseAll() == ["2", "3"])
        #expect(try await store.ledger() == Ledger(accepted: 4, pending: 3, dropped: [.expired: 1]))
    }

    @Test("a full outbox drops the oldest of the least important", arguments: StoreKind.allCases)
    func overflow(_ kind: StoreKind) async throws {
        let store = try kind.open(folder, limits: StoreLimits(maximumCount: 4))
        try await store.append([.sample("view-1", .screenView("home"))], isHeld: false)
        try await store.append([.sample("purchase-1", .purchase(Order(id: "1", total: 1)))], isHeld: true)
        try await store.append([.sample("view-2", .screenView("home"))], isHeld: true)
        try await store.append([.sample("custom-1"), .sample("custom-2")], isHeld: false)
        try await store.append([.sample("purchase-2", .purchase(Order(id: "2", total: 1)))], isHeld: false)
        try await store.append([.sample("purchase-3", .purchase(Order(id: "3", total: 1)))], isHeld: false)
        try await store.release(userID: "ada")
        #expect(try await store.leaseAll() == ["purchase-1", "custom-2", "purchase-2", "purchase-3"])
        #expect(try await store.ledger() == Ledger(accepted: 7, pending: 4, dropped: [.overflow: 3]))
    }

    @Test("a full outbox of dear events drops a cheap newcomer, and counts it", arguments: StoreKind.allCases)
    func cheapNewcomer(_ kind: StoreKind) async throws {
        let store = try kind.open(folder, limits: StoreLimits(maximumCount: 2))
        let dear = (1...2).map { Envelope.sample("\($0)", .purchase(Order(id: "\($0)", total: 1))) }
        try await store.append(dear, isHeld: false)
        try await store.append([.sample("view", .screenView("home"))], isHeld: false)
        #expect(try await store.leaseAll() == ["1", "2"])
        #expect(try await store.ledger() == Ledger(accepted: 3, pending: 2, dropped: [.overflow: 1]))
    }

    @Test("what is being delivered isn't dropped to make room", arguments: StoreKind.allCases)
    func overflowBesideLease(_ kind: StoreKind) async throws {
        let store = try kind.open(folder, limits: StoreLimits(maximumCount: 2))
        try await store.append([.sample("1"), .sample("2")], isHeld: false)
        #expect(try await store.lease(1, bytes: .max, now: noon, until: noon + 60).map(\.id) == ["1"])
        try await store.append([.sample("3"), .sample("4")], isHeld: false)
        try await store.settle([.delivered(id: "1")])
        #expect(try await store.leaseAll() == ["4"])
        #expect(try await store.ledger() == Ledger(accepted: 4, delivered: 1, pending: 1, dropped: [.overflow: 2]))
    }

    @Test("an event over the limit is refused, and nothing of its call is accepted", arguments: StoreKind.allCases)
    func tooLarge(_ kind: StoreKind) async throws {
        let store = try kind.open(folder, limits: StoreLimits(maximumEventBytes: 1_000))
        let large = Envelope.sample("large", .custom(String(repeating: "é", count: 500)))
        let error = await #expect(throws: ExperimentationError.self) {
            try await store.append([.sample("a"), large], isHeld: false)
        }
        #expect(error?.code == .tooLarge)
        let infinite = await #expect(throws: ExperimentationError.self) {
            try await store.append([.sample("b", .custom("b", value: .infinity))], isHeld: false)
        }
        #expect(infinite?.code == .invalidArgument)
        #expect(try await store.ledger() == Ledger())
    }

    @Test("P23 a clock that was set back doesn't keep events waiting", arguments: StoreKind.allCases)
    func clockSetBack(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append([.sample("a"), .sample("b", user: "bob")], isHeld: false)
        #expect(try await store.lease(1, bytes: .max, now: noon, until: noon + 60).map(\.id) == ["a"])
        #expect(try await store.leaseAll() == ["b"])
        try await store.settle([.retry(id: "b", at: noon + 300, attempts: 0, reason: "outage")])
        // A second or so is how clocks are corrected; ten years is a clock that was wrong.
        #expect(try await store.leaseAll(at: noon - 1).isEmpty)
        #expect(try await store.leaseAll(at: noon - 3_650 * 86_400) == ["a", "b"])
    }

    @Test("hundreds of callers at once are all served", arguments: StoreKind.allCases)
    func concurrency(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await withThrowingTaskGroup { group in
            for caller in 0..<200 {
                group.addTask {
                    for step in 0..<5 {
                        try await store.append([.sample("\(caller)-\(step)", user: "u\(caller)")], isHeld: false)
                        if step == 4 { _ = try await store.status(now: noon) }
                    }
                }
            }
            group.addTask {
                for _ in 0..<20 {
                    let leased = try await store.leaseAll(50)
                    try await store.settle(leased.map { .delivered(id: $0) })
                }
            }
            try await group.waitForAll()
        }
        var seen: [String] = []
        while case let leased = try await store.leaseAll(100), !leased.isEmpty {
            seen += leased
            try await store.settle(leased.map { .delivered(id: $0) })
        }
        #expect(Set(seen).count == seen.count)
        #expect(try await store.ledger() == Ledger(accepted: 1_000, delivered: 1_000))
    }

    @Test("what waits can be looked at, page by page, and stays as it is", arguments: StoreKind.allCases)
    func waiting(_ kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append([.sample("a"), .sample("b", user: "bob")], isHeld: false)
        try await store.append([.sample("c")], isHeld: true)
        _ = try await store.lease(1, bytes: .max, now: noon, until: noon + 60)
        try await store.settle([.retry(id: "a", at: noon + 5, attempts: 2, reason: "HTTP 400")])
        let first = try await store.waiting(after: 0, limit: 2)
        #expect(first.map(\.envelope.id) == ["a", "b"] && first.map(\.isHeld) == [false, false])
        #expect(first.map(\.reason) == ["HTTP 400", nil] && first.map(\.envelope.attempts) == [2, 0])
        let rest = try await store.waiting(after: try #require(first.last).envelope.sequence, limit: 2)
        #expect(rest.map(\.envelope.id) == ["c"] && rest.map(\.isHeld) == [true])
        #expect(try await store.waiting(after: try #require(rest.last).envelope.sequence, limit: 2).isEmpty)
        #expect(try await store.leaseAll(at: noon + 6) == ["a", "b"])
    }

    private func status(leased: Int, of store: any OutboxStore) async throws -> OutboxStatus {
        let bytes = try await store.status(now: noon).bytes
        return OutboxStatus(leased: leased, bytes: bytes, oldest: noon)
    }
}

@Suite("Every state store keeps the contract")
struct StateContractTests {
    private let folder = TemporaryFolder()

    @Test("values are set, replaced and removed", arguments: StoreKind.allCases)
    func values(_ kind: StoreKind) async throws {
        let store = try kind.openState(folder)
        #expect(try await store.value(for: "a") == nil)
        try await store.setValue([], for: "a")
        #expect(try await store.value(for: "a") == [])
        try await store.setValue([0, 255, 39], for: "a")
        #expect(try await store.value(for: "a") == [0, 255, 39])
        try await store.setValue(nil, for: "a")
        #expect(try await store.value(for: "a") == nil)
    }

    @Test("keys come in the order of their writing", arguments: StoreKind.allCases)
    func keys(_ kind: StoreKind) async throws {
        let store = try kind.openState(folder)
        for key in ["d/1", "d/2", "e/1", "d/3", "d", "d/%", "d/\u{10FFFE}"] { try await store.setValue([1], for: key) }
        try await store.setValue([2], for: "d/1")
        #expect(try await store.keys(beginningWith: "d/") == ["d/2", "d/3", "d/%", "d/\u{10FFFE}", "d/1"])
        try await store.removeAll(beginningWith: "d/")
        #expect(try await store.keys(beginningWith: "") == ["e/1", "d"])
    }
}
