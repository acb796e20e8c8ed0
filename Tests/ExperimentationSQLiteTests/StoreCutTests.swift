import Experimentation
import ExperimentationSQLite
import Foundation
import Testing
import Waiting

@Suite("A truncated store keeps what is left")
struct StoreCutTests {
    private let folder = TemporaryFolder()

    /// A store with 3,300 events for one destination, 300 of them delivered, 300 for another, and an empty log.
    private func template() async throws -> URL {
        let url = folder.file("template")
        let store = try SQLiteStore(at: url)
        for start in stride(from: 0, to: 3_300, by: 100) {
            try await store.file((start..<(start + 100)).map { .sample("\($0)", user: "u\($0 % 7)") })
        }
        try await store.deliver(300)
        try await store.file((3_300..<3_600).map { .sample("\($0)") }, to: [.alsoFiled])
        await store.close()
        return url
    }

    private func copy(_ template: URL, as name: String, hasAccounts: Bool) throws -> URL {
        let manager = FileManager.default
        let url = folder.file(name)
        try manager.copyItem(at: template, to: url)
        let lock = template.path + "-lock"
        if hasAccounts { try manager.copyItem(atPath: lock, toPath: url.path + "-lock") }
        return url
    }

    @Test("P16 with two pages missing at the end, all others are kept, and losses are counted")
    func twoPages() async throws {
        let url = try await template()
        try StoreSurgery.cut(url, to: try StoreSurgery.size(of: url) - 8_192)
        let store = try SQLiteStore(at: url)
        #expect(store.hasSetAsideDamage)
        let ledger = try await store.ledger(of: .filed)
        #expect(ledger.accepted == 3_300 && ledger.delivered == 300 && ledger.isBalanced)
        #expect(ledger.pending > 2_900, "\(ledger)")
        let other = try await store.ledger(of: .alsoFiled)
        #expect(other.accepted == 300 && other.isBalanced && other.pending > 200, "\(other)")
        #expect(try await store.fetch().ids.count == ledger.pending)
    }

    @Test("P16 P20 closing a store doesn't replace the figures that another process has stored since")
    func closedLater() async throws {
        let one = try SQLiteStore(at: folder.file())
        try await one.file((0..<10).map { .sample("\($0)") })
        try await one.file([.sample("10")])
        let two = try SQLiteStore(at: folder.file())
        try await two.deliver(3)
        await one.close()
        await two.close()
        try StoreSurgery.cut(folder.file(), to: 0)
        let next = try SQLiteStore(at: folder.file())
        let ledger = Ledger(accepted: 11, delivered: 3, dropped: [.unreadable: 8])
        #expect(try await next.ledger() == ledger)
    }

    @Test("P16 truncated to any length, the ledger knows what was accepted, and the rest is delivered")
    func anyLength() async throws {
        let template = try await template()
        let size = try StoreSurgery.size(of: template)
        var kept: [Int] = []
        for percent in stride(from: 0, through: 100, by: isSoak ? 1 : 5) {
            let url = try copy(template, as: "cut-\(percent)", hasAccounts: true)
            try StoreSurgery.cut(url, to: size * percent / 100)
            let store = try SQLiteStore(at: url)
            #expect(store.hasSetAsideDamage == (percent < 100), "\(percent) %")
            let ledger = try await store.ledger(of: .filed)
            #expect(ledger.accepted == 3_300 && ledger.delivered == 300 && ledger.isBalanced, "\(percent) %: \(ledger)")
            let other = try await store.ledger(of: .alsoFiled)
            #expect(other.accepted == 300 && other.isBalanced, "\(percent) %: \(other)")
            let batch = try await store.fetch()
            #expect(batch.ids.count == ledger.pending, "\(percent) %")
            #expect(Set(batch.ids).count == batch.ids.count)
            kept.append(ledger.pending)
            try await store.finish(batch)
            try await store.file([.sample("new")])
            #expect(try await store.fetch().events.map(\.sequence) == [3_601], "\(percent) %")
            try await store.expectBalance()
            await store.close()
            let again = try SQLiteStore(at: url)
            #expect(!again.hasSetAsideDamage, "\(percent) %")
            #expect(try await again.ledger(of: .filed).accepted == 3_301)
            await again.close()
        }
        #expect(kept.first == 0 && kept.last == 3_000, "\(kept)")
        #expect(kept.filter { $0 > 0 }.count > kept.count / 3, "\(kept)")
    }

    @Test("P16 without the copy of its ledger, a truncated store still balances")
    func withoutAccounts() async throws {
        let template = try await template()
        let size = try StoreSurgery.size(of: template)
        for percent in stride(from: 0, through: 95, by: 5) {
            let url = try copy(template, as: "bare-\(percent)", hasAccounts: false)
            try StoreSurgery.cut(url, to: size * percent / 100)
            let store = try SQLiteStore(at: url)
            try await store.expectBalance()
            try await store.deliver(10_000)
            try await store.file([.sample("new")])
            try await store.expectBalance()
            await store.close()
        }
    }

    @Test("P16 data only in the log is kept when the database is truncated to nothing")
    func logAlone() async throws {
        let store = try SQLiteStore(at: folder.file("open"))
        try await store.file((0..<50).map { .sample("\($0)") })
        for ending in ["-wal", "-lock"] {
            try FileManager.default.copyItem(at: folder.file("open" + ending), to: folder.file("cut" + ending))
        }
        try Data().write(to: folder.file("cut"))
        let cut = try SQLiteStore(at: folder.file("cut"))
        #expect(cut.hasSetAsideDamage)
        let ledger = try await cut.ledger(of: .filed)
        #expect(ledger.accepted == 50 && ledger.isBalanced, "\(ledger)")
    }

    @Test("P16 delivered events count as delivered, though the store is killed and only its lock file is left")
    func lockAlone() async throws {
        let store = try SQLiteStore(at: folder.file("open"))
        try await store.file((0..<50).map { .sample("\($0)") })
        try await store.deliver(20)
        try await store.deliver(20)
        try FileManager.default.copyItem(at: folder.file("open-lock"), to: folder.file("cut-lock"))
        try Data().write(to: folder.file("cut"))
        let cut = try SQLiteStore(at: folder.file("cut"))
        let ledger = Ledger(accepted: 50, delivered: 40, dropped: [.unreadable: 10])
        #expect(try await cut.ledger(of: .filed) == ledger)
    }

    @Test("P16 hundreds of missing pages hide none of the others")
    func holes() async throws {
        let url = try await template()
        var data = try Data(contentsOf: url)
        var dice = SplitMix(seed: 16)
        let pages = data.count / 4_096
        for _ in 0..<(pages / 10) {
            let page = Int.random(in: 20..<pages, using: &dice) * 4_096
            data.replaceSubrange(page..<(page + 4_096), with: Data(repeating: 0, count: 4_096))
        }
        try data.write(to: url)
        let store = try SQLiteStore(at: url)
        let ledger = try await store.ledger(of: .filed)
        #expect(ledger.accepted == 3_300 && ledger.isBalanced && ledger.pending > 2_000, "\(ledger)")
    }
}
