import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import GRDB
import Testing
import Waiting

@Suite("A damaged store is survived")
struct StoreDamageTests {
    private let folder = TemporaryFolder()

    enum Damage: String, CaseIterable, Sendable {
        case emptied, header, garbage, truncated, truncatedPage, bitFlip, zeroPage, logGarbage, logTruncated,
            indexGarbage
    }

    /// A store with fifty waiting and fifty delivered events, copied together with its log.
    private func template() async throws -> [String: Data] {
        let store = try SQLiteStore(at: folder.file("template"))
        for number in 0..<100 {
            try await store.file([.sample("\(number)", user: "u\(number % 7)", .custom("event \(number)"))])
        }
        try await store.deliver(50)
        let files = try folder.contents()
        await store.close()
        return files.filter { !$0.key.hasSuffix("-lock") && !$0.key.hasSuffix("-reserve") }
    }

    @Test("P16 ten kinds of damage: opened within a second, one copy kept, ledgers balanced")
    func damage() async throws {
        let template = try await template()
        let clock = ContinuousClock()
        var setAside = 0
        for damage in Damage.allCases {
            for seed in 0..<(isSoak ? 40 : 8) {
                var dice = SplitMix(seed: seed)
                let name = "\(damage.rawValue)-\(seed)"
                for (file, var data) in template.sorted(by: { $0.key < $1.key }) {
                    apply(damage, to: &data, isLog: file.hasSuffix("-wal"), isIndex: file.hasSuffix("-shm"), &dice)
                    try data.write(to: folder.file(name + file.dropFirst("template".count)))
                }
                let start = clock.now
                let store = try SQLiteStore(at: folder.file(name))
                let leased = try await store.fetch(100)
                if isSoak { #expect(clock.now - start < .seconds(1), "\(name)") }
                #expect(Set(leased.ids).count == leased.ids.count)
                try await store.file([.sample("new")])
                try await store.expectBalance()
                try await store.finish(leased)
                try await store.expectBalance()
                #expect(try await store.fetch().ids.last == "new", "\(name)")
                if store.hasSetAsideDamage {
                    setAside += 1
                    #expect(FileManager.default.fileExists(atPath: folder.file(name + ".damaged").path))
                }
                await store.close()
                // Intact from now on.
                let again = try SQLiteStore(at: folder.file(name))
                #expect(!again.hasSetAsideDamage)
                try await again.expectBalance()
                await again.close()
            }
        }
        #expect(setAside >= 20, "\(setAside)")
    }

    private func apply(_ damage: Damage, to data: inout Data, isLog: Bool, isIndex: Bool, _ dice: inout SplitMix) {
        func scramble(_ range: Range<Int>) {
            for index in range where index < data.count { data[index] = UInt8.random(in: 0...255, using: &dice) }
        }
        switch damage {
        case .emptied: if !isIndex { data = Data() }
        case .header: if !isLog, !isIndex { scramble(0..<100) }
        case .garbage: if !isLog, !isIndex { scramble(0..<data.count) }
        case .truncated:
            if !isLog, !isIndex, data.count > 0 { data.removeLast(Int.random(in: 1...data.count, using: &dice)) }
        case .truncatedPage: if !isLog, !isIndex, data.count > 4_096 { data.removeLast(4_096) }
        case .bitFlip:
            if !isIndex, data.count > 100 {
                for _ in 0..<8 {
                    data[Int.random(in: 100..<data.count, using: &dice)] ^= 1 << UInt8.random(in: 0...7, using: &dice)
                }
            }
        case .zeroPage:
            if !isLog, !isIndex, data.count > 8_192 {
                let page = Int.random(in: 1..<(data.count / 4_096), using: &dice) * 4_096
                data.replaceSubrange(page..<(page + 4_096), with: Data(repeating: 0, count: 4_096))
            }
        case .logGarbage: if isLog { scramble(0..<data.count) }
        case .logTruncated: if isLog, data.count > 0 { data.removeLast(Int.random(in: 1...data.count, using: &dice)) }
        case .indexGarbage: if isIndex { scramble(0..<data.count) }
        }
    }

    @Test("unreadable events that can't be dropped either end a delivery like a failing store, without spinning")
    func unreadableAndKept() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("1"), .sample("2", user: "bob")])
        #expect(try await store.deliverable().count == 2)
        let raw = try DatabaseQueue(path: folder.file().path)
        try await raw.writeWithoutTransaction { database in
            try database.execute(sql: "UPDATE event SET body = x'00'")
            try database.execute(
                sql: "CREATE TRIGGER kept BEFORE DELETE ON delivery BEGIN SELECT RAISE(ABORT, 'kept'); END"
            )
        }
        let request = LeaseRequest(for: .home, owner: 1, of: 10, now: noon, until: noon + 60)
        let error = await #expect(throws: ExperimentationError.self) { try await store.lease(request) }
        #expect(error?.code == .store)
        #expect(try await store.ledger() == Ledger(accepted: 2, pending: 2))
        try await raw.writeWithoutTransaction { try $0.execute(sql: "DROP TRIGGER kept") }
        try raw.close()
        #expect(try await store.lease(request) == .nothing(until: nil))
        #expect(try await store.ledger() == Ledger(accepted: 2, dropped: [.unreadable: 2]))
    }

    @Test("an unreadable page of events neither ends the outbox nor blocks other events")
    func unreadablePage() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file((0..<7).map { .sample("\($0)", user: "u\($0)") })
        let database = try DatabaseQueue(path: folder.file().path)
        try await database.write { database in
            try database.execute(sql: "UPDATE event SET body = x'00' WHERE sequence <= 4")
            try database.execute(
                sql: "CREATE TRIGGER disk BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the disk'); END"
            )
        }
        #expect(try await store.waiting(limit: 2).map(\.envelope.id) == ["4", "5"])
        #expect(try await store.fetch().ids == ["4", "5", "6"])
    }

    @Test("P16 P17 a read-only file is a typed error, not a crash")
    func unwritable() async throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(at: folder.file(), withIntermediateDirectories: true)
        let error = #expect(throws: ExperimentationError.self) { try SQLiteStore(at: folder.file()) }
        #expect(error?.code == .store)
        let remote = #expect(throws: ExperimentationError.self) {
            try SQLiteStore(at: URL(string: "https://example.com/store") ?? folder.url)
        }
        #expect(remote?.code == .configuration)
        let nowhere = #expect(throws: ExperimentationError.self) {
            try SQLiteStore(at: URL(fileURLWithPath: "/dev/null/store.sqlite"))
        }
        #expect(nowhere?.code == .store)
    }

    @Test("P17 a full file is survived: typed error, nothing lost, deliveries continue and make room")
    func full() async throws {
        let store = try SQLiteStore(at: folder.file(), options: .init(limits: StoreLimits(maximumBytes: 1_000_000)))
        for number in 0..<100 { try await store.file([.sample("\(number)")]) }
        // Stored values fill the file up to the reserve.
        var stored = 0
        var refusal: ExperimentationError?
        while refusal == nil, stored < 1_000 {
            do throws(ExperimentationError) {
                try await store.setValue(Array(repeating: 1, count: 20_000), for: "value \(stored)")
                stored += 1
            } catch {
                refusal = error
            }
        }
        #expect(refusal?.code == .store)
        #expect(stored > 40)
        // Events are still accepted, in exchange for the oldest ones, which are counted as dropped.
        for number in 100..<3_000 { try await store.file([.sample("\(number)")]) }
        var ledger = try await store.ledger()
        #expect(ledger.accepted == 3_000 && ledger.dropped[.overflow, default: 0] > 0 && ledger.pending > 10)
        let pending = ledger.pending
        var delivered = 0
        while case let batch = try await store.fetch(100), !batch.events.isEmpty {
            try await store.finish(batch)
            delivered += batch.events.count
        }
        #expect(delivered == pending)
        try await store.removeAll(beginningWith: "value")
        try await store.file((0..<1_000).map { .sample("again \($0)") })
        ledger = try await store.ledger()
        #expect(ledger.pending == 1_000 && ledger.isBalanced)
        // While the file is rewritten, its log holds a second copy.
        try await store.finishErasing()
        #expect(try size() <= 1_500_000)
    }

    @Test("P08 long offline: events up to the limit, exact drops, the oldest and least important first")
    func bounded() async throws {
        let total = isSoak ? 1_000_000 : 30_000
        let most = total / 100
        let store = try SQLiteStore(
            at: folder.file(),
            options: .init(limits: StoreLimits(maximumCount: most, maximumBytes: most * 400))
        )
        var number = 0
        while number < total {
            let batch = (number..<(number + 500)).map { number in
                Envelope.sample(
                    "\(number)",
                    number % 100 == 0 ? .purchase(Order(id: "\(number)", total: 1)) : .custom("event")
                )
            }
            try await store.file(batch)
            number += 500
        }
        let ledger = try await store.ledger()
        #expect(ledger == Ledger(accepted: total, pending: most, dropped: [.overflow: total - most]))
        // The store's limit equals the number of purchases, so it holds exactly these.
        let leased = try await store.fetch(most)
        #expect(leased.ids == stride(from: 0, to: total, by: 100).map(\.description))
        #expect(try size() <= max(1_000_000, most * 400) * 3 / 2)
    }

    private func size() throws -> Int {
        try folder.contents().filter { !$0.key.hasSuffix("-shm") }.values.reduce(0) { $0 + $1.count }
    }
}
