import Experimentation
import Foundation
import GRDB
import Synchronization
import Testing
import Waiting

@testable import ExperimentationSQLite

@Suite("Erasing that is owed")
struct OwedErasingTests {
    private let folder = TemporaryFolder()

    @Test(
        "P24 closing erases removed data; if that fails, the next opening does",
        arguments: [true, false]
    )
    func erasedLater(isHindered: Bool) async throws {
        let store = try SQLiteStore(at: folder.file(), options: .init(busyTimeout: .milliseconds(20)))
        // Enough for copies to remain where rows move between pages.
        for number in 0..<200 {
            try await store.append([.sample("\(number)", user: number % 2 == 0 ? "marker-4711" : "bob")])
        }
        let reader = isHindered ? try await hindering() : nil
        try await store.purge("marker-4711")
        await store.close()
        if let reader { try await end(reader) }
        #expect(try await isErasingOwed() == isHindered)
        if isHindered {
            let next = try SQLiteStore(at: folder.file())
            try await next.finishErasing()
            try await next.expectBalance(200)
            await next.close()
            #expect(try await !isErasingOwed())
        }
        #expect(try folder.occurrences(of: "marker-4711") == 0)
    }

    @Test("P24 a process that is killed while it rewrites the file still owes the rewriting")
    func killedMeanwhile() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append((0..<20).map { .sample("\($0)", user: $0 % 2 == 0 ? "marker-4711" : "bob") })
        let (path, copy) = (folder.file().path, folder.file("killed.sqlite").path)
        store.commits.database.inDatabase { database in
            database.trace { event in
                guard "\(event)".hasPrefix("VACUUM") else { return }
                for ending in ["", "-wal"] {
                    try? FileManager.default.copyItem(atPath: path + ending, toPath: copy + ending)
                }
            }
        }
        try await store.purge("marker-4711")
        try await store.finishErasing()
        await store.close()
        #expect(try await !isErasingOwed())
        #expect(try await isErasingOwed("killed.sqlite"))
        let next = try SQLiteStore(at: folder.file("killed.sqlite"))
        try await next.finishErasing()
        await next.close()
        #expect(try await !isErasingOwed("killed.sqlite"))
        #expect(try folder.occurrences(of: "marker-4711") == 0)
    }

    /// The ways to leave a user's traces when a denial no longer has anything to remove.
    enum Gone: CaseIterable { case deliveredEvents, removedValues }

    @Test(
        "P24 a process that is killed after a denial that had nothing to remove owes the erasing",
        arguments: Gone.allCases
    )
    func nothingToRemove(_ gone: Gone) async throws {
        let store = try SQLiteStore(at: folder.file(), options: .init(busyTimeout: .milliseconds(20)))
        // Keeps the file from being rewritten before it is copied.
        let reader = try await hindering()
        switch gone {
        case .deliveredEvents:
            try await store.append((0..<20).map { .sample("\($0)", user: "marker-4711") })
            try await store.settle(try #require(try await store.take()))
            let denial = ConsentChange(userID: "marker-4711", isGranted: false)
            #expect(try await store.setConsent([denial]) == ConsentOutcome())
        case .removedValues:
            try await store.setValue(Array("marker-4711".utf8), for: "decisions/1")
            try await store.setValue(nil, for: "decisions/1")
            try await store.removeAll(beginningWith: "decisions/1")
        }
        for ending in ["", "-wal", "-lock"] {
            try FileManager.default.copyItem(
                at: folder.file("store.sqlite" + ending),
                to: folder.file("killed" + ending)
            )
        }
        try await end(reader)
        await store.close()
        #expect(try folder.occurrences(of: "marker-4711") > 0)
        #expect(try await isErasingOwed("killed"))
        let next = try SQLiteStore(at: folder.file("killed"))
        try await next.finishErasing()
        #expect(try folder.occurrences(of: "marker-4711") == 0)
        await next.close()
    }

    @Test("P24 a denial erases what another process has delivered since this one rewrote the file alone")
    func deliveredElsewhere() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("a", user: "bob")])
        try await store.purge("bob")
        try await store.finishErasing()
        let other = try SQLiteStore(at: folder.file())
        try await other.append((0..<20).map { .sample("\($0)", user: "marker-4711") })
        try await other.settle(try #require(try await other.take()))
        await other.close()
        #expect(try folder.occurrences(of: "marker-4711") > 0)
        _ = try await store.setConsent([ConsentChange(userID: "marker-4711", isGranted: false)])
        try await store.finishErasing()
        #expect(try folder.occurrences(of: "marker-4711") == 0)
        await store.close()
    }

    @Test(
        "P24 removed data is erased without a call, even after a removal planned while the file was being rewritten",
        .timeLimit(.minutes(5))
    )
    func plannedMeanwhile() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("a", user: "ada"), .sample("b", user: "marker-4711")])
        store.commits.database.inDatabase { database in
            database.trace { [weak store] event in
                // As a removal does that was committed just before.
                if "\(event)".hasPrefix("VACUUM") { store?.eraseBehind() }
            }
        }
        try await store.purge("ada")
        try await store.finishErasing()
        store.commits.database.inDatabase { $0.trace() }
        try await eventually("the plan has come to nothing") {
            store.commits.waiting.withLock { !$0.isErasingPlanned }
        }
        try await store.purge("marker-4711")
        try await eventually("the rest is erased") { try folder.occurrences(of: "marker-4711") == 0 }
        await store.close()
    }

    @Test("a closed store deletes nothing of a file that another process may be replacing")
    func closed() async throws {
        let store = try SQLiteStore(at: folder.file())
        await store.close()
        try Data("repaired".utf8).write(to: folder.file("store.sqlite.repaired"))
        await #expect(throws: ExperimentationError.self) { try await store.commits.erase(store.erasing) }
        #expect(try folder.contents()["store.sqlite.repaired"] != nil)
    }

    /// Begins to read the file, which can't be rewritten until that ends.
    private func hindering() async throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: folder.file().path, configuration: configuration)
        try await reader.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN")
            _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM event")
        }
        return reader
    }

    private func end(_ reader: DatabaseQueue) async throws {
        try await reader.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try reader.close()
    }

    /// Whether the file records that it must be rewritten.
    private func isErasingOwed(_ name: String = "store.sqlite") async throws -> Bool {
        let raw = try DatabaseQueue(path: folder.file(name).path)
        return try await raw.read { database in
            try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM meta WHERE name = 'erase')") ?? false
        }
    }
}
