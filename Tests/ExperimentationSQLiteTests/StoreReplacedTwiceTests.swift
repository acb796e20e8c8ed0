import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@Suite("A store whose file is replaced takes nothing of the new file for its own")
struct StoreReplacedTwiceTests {
    private let folder = TemporaryFolder()

    private func replace(with other: URL? = nil) throws {
        for ending in ["", "-wal", "-shm"] {
            try FileManager.default.removeItem(at: folder.file("store.sqlite" + ending))
        }
        if let other { try FileManager.default.moveItem(at: other, to: folder.file()) }
    }

    @Test("a lease from before the first of two replacements settles none of another store's events")
    func leasedBeforeBoth() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file((0..<4).map { .sample("ours \($0)") })
        let batch = try await store.fetch(2)
        let other = try SQLiteStore(at: folder.file("other"))
        try await other.file((0..<3).map { .sample("theirs \($0)") })
        await other.close()
        try replace(with: folder.file("other"))
        try await store.file([.sample("ours 4")])
        try replace()
        try await store.file([.sample("ours 5")])
        #expect(try await !store.finish(batch))
        #expect(try await store.ledger(of: .filed) == Ledger(accepted: 9, pending: 9))
        let ids = (0..<3).map { "theirs \($0)" } + (0..<6).map { "ours \($0)" }
        #expect(try await store.fetch().ids == ids)
    }

    @Test("a lease from a file that another process has moved settles nothing in a third file")
    func leasedBeforeAnotherMoved() async throws {
        let one = try SQLiteStore(at: folder.file())
        let two = try SQLiteStore(at: folder.file())
        try await one.file([.sample("0"), .sample("1")])
        let batch = try await two.fetch(2)
        try replace()
        try await one.file([.sample("2")])
        try replace()
        try await two.file([.sample("3")])
        #expect(try await !two.finish(batch))
        try await one.file([.sample("4")])
        #expect(try await two.ledger(of: .filed) == Ledger(accepted: 5, pending: 5))
        #expect(try await two.fetch().ids == ["3", "0", "1", "2", "4"])
    }

    @Test("leases of a new file are valid, however many there were before it")
    func laterLeases() async throws {
        let one = try SQLiteStore(at: folder.file())
        let two = try SQLiteStore(at: folder.file())
        try await one.file([.sample("ours")])
        for _ in 0..<3 { _ = try await two.fetch() }
        let other = try SQLiteStore(at: folder.file("other"))
        try await other.file([.sample("theirs")])
        await other.close()
        try replace(with: folder.file("other"))
        try await two.file([.sample("2")])
        try await one.file([.sample("3")])
        try replace()
        try await one.file([.sample("4")])
        try replace()
        try await two.file([.sample("5")])
        #expect(try await two.finish(try await two.fetch()))
        #expect(try await two.ledger(of: .filed) == Ledger(accepted: 1, delivered: 1))
    }

    @Test("consent granted since an earlier copy stays granted, and failures from before it aren't reported again")
    func earlierCopy() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file([.sample("1"), .sample("2")])
        let failed = try await store.fetch()
        let pause = DeliveryPause(reason: "HTTP 503", through: 2)
        try await store.release(failed.token, pause: pause, now: noon)
        for user in ["bob", "dan"] {
            _ = try await store.setConsent([ConsentChange(userID: user, isGranted: false)])
        }
        await store.close()
        try FileManager.default.copyItem(at: folder.file(), to: folder.file("backup"))
        let again = try SQLiteStore(at: folder.file())
        _ = try await again.setConsent([ConsentChange(userID: "bob", isGranted: true)])
        try await again.deliver(1)
        try replace(with: folder.file("backup"))
        let late = ["bob", "dan"].map { NewEvent(.sample("late \($0)", user: $0), to: .filed) }
        #expect(try await again.append(late, now: noon).map { $0?.code } == [nil, .consentDenied])
        #expect(try await again.status(of: .filed, now: noon).failures == [:])
        #expect(try await again.fetch().ids == ["2", "late bob"])
    }

    @Test("waiting events of users who deny consent in either of two stores aren't delivered")
    func denied() async throws {
        let store = try SQLiteStore(at: folder.file())
        let users = ["ada", "bob", "dan"]
        _ = try await store.setConsent([ConsentChange(userID: "bob", isGranted: false)])
        try await store.file([.sample("ours 0", user: "ada"), .sample("ours 1", user: "dan")])
        let other = try SQLiteStore(at: folder.file("other"))
        _ = try await other.setConsent([ConsentChange(userID: "dan", isGranted: false)])
        try await other.file([.sample("theirs 0", user: "bob"), .sample("theirs 1", user: "ada")])
        try await other.file([.sample("theirs 2", user: "bob")], isHeld: true)
        try await other.file([.sample("signal", user: "bob", TrackingEvent(.consentChanged(granted: false)))])
        await other.close()
        try replace(with: folder.file("other"))
        try await store.file([.sample("last")])
        #expect(try await store.fetch().ids == ["theirs 1", "signal", "ours 0", "last"])
        #expect(try await store.ledger(of: .filed) == Ledger(accepted: 7, pending: 4, purged: 3))
        let late = users.map { NewEvent(.sample("late \($0)", user: $0), to: .filed) }
        let codes: [ErrorCode?] = [nil, .consentDenied, .consentDenied]
        #expect(try await store.append(late, now: noon).map { $0?.code } == codes)
        await store.close()
        for id in ["theirs 0", "theirs 2", "ours 1"] { #expect(try folder.occurrences(of: id) == 0, "\(id)") }
    }

    @Test("data that users who deny consent had in another store is erased without a call", .timeLimit(.minutes(5)))
    func erased() async throws {
        let former = try SQLiteStore(at: folder.file())
        _ = try await former.setConsent([ConsentChange(userID: "bob", isGranted: false)])
        await former.close()
        let store = try SQLiteStore(at: folder.file())
        _ = try await store.fetch()
        let other = try SQLiteStore(at: folder.file("other"))
        try await other.file([.sample("marker-4711", user: "bob")])
        await other.close()
        try replace(with: folder.file("other"))
        try await store.file([.sample("last")])
        try await eventually("it is erased") { try folder.occurrences(of: "marker-4711") == 0 }
        await store.close()
    }

    @Test("two stores that don't fit into one file's limit are merged, and the oldest events make room")
    func tooMuch() async throws {
        let options = StoreOptions(limits: StoreLimits(maximumBytes: 1_000_000))
        let large = TrackingEvent.custom(String(repeating: "x", count: 1_000))
        let store = try SQLiteStore(at: folder.file(), options: options)
        try await store.file((0..<600).map { .sample("ours \($0)", large) })
        let other = try SQLiteStore(at: folder.file("other"), options: options)
        try await other.file((0..<600).map { .sample("theirs \($0)", large) })
        await other.close()
        try replace(with: folder.file("other"))
        try await store.file([.sample("last", large)])
        let ledger = try await store.ledger(of: .filed)
        let dropped = ledger.dropped[.overflow, default: 0]
        #expect(ledger.accepted == 1_201 && ledger.isBalanced && dropped > 300 && ledger.pending > 500, "\(ledger)")
        let batch = try await store.fetch(2_000)
        #expect(batch.ids.count == ledger.pending && batch.ids.last == "last")
        #expect(try await store.finish(batch))
    }

    @Test("events that wait in a file beyond a lowered limit are delivered")
    func lowerLimit() async throws {
        let large = TrackingEvent.custom(String(repeating: "x", count: 1_000))
        let store = try SQLiteStore(at: folder.file())
        for number in 0..<3_000 { try await store.file([.sample("\(number)", large)]) }
        await store.close()
        let options = StoreOptions(limits: StoreLimits(maximumBytes: 1_000_000))
        let next = try SQLiteStore(at: folder.file(), options: options)
        let batch = try await next.fetch(5_000)
        #expect(batch.ids == (0..<3_000).map(\.description))
        #expect(try await next.finish(batch))
        #expect(try await next.ledger() == Ledger(accepted: 3_000, delivered: 3_000))
    }
}
