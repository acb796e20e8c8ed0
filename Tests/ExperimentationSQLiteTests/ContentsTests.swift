import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import Testing

@Suite("The identity of a store's contents")
struct ContentsTests {
    private let folder = TemporaryFolder()

    /// Opens a store and deletes its file.
    ///
    /// - Returns: The store, and the identity of its contents.
    private func deleted() async throws -> (store: SQLiteStore, id: String?) {
        let store = try SQLiteStore(at: folder.file())
        try await store.file([.sample("1")])
        let id = store.contentsID
        for ending in ["", "-wal", "-shm"] {
            try FileManager.default.removeItem(at: folder.file("store.sqlite" + ending))
        }
        return (store, id)
    }

    @Test("all stores over one file have the same contents, even one that opens it later")
    func together() async throws {
        let one = try SQLiteStore(at: folder.file())
        let two = try SQLiteStore(at: folder.file())
        #expect(one.contentsID != nil && one.contentsID == two.contentsID)
        let id = one.contentsID
        for store in [one, two] { await store.close() }
        #expect(try SQLiteStore(at: folder.file()).contentsID == id)
    }

    @Test("a closed store's contents keep their identity, even if it wasn't requested before")
    func closed() async throws {
        let one = try SQLiteStore(at: folder.file())
        let two = try SQLiteStore(at: folder.file())
        let id = one.contentsID
        for store in [one, two] { await store.close() }
        #expect(one.contentsID == id)
        #expect(two.contentsID == id)
    }

    @Test("a file created again under its name has other contents, which a store with the old one open keeps apart")
    func anew() async throws {
        let (old, id) = try await deleted()
        let new = try SQLiteStore(at: folder.file())
        #expect(new.contentsID != id)
        #expect(old.contentsID == id)
        // Its contents go where the file is now.
        try await old.file([.sample("2")])
        #expect(old.contentsID == new.contentsID)
    }

    @Test("a store that continues in a new file takes its contents along, with their identity")
    func moved() async throws {
        let (store, id) = try await deleted()
        try await store.file([.sample("2")])
        #expect(store.contentsID == id)
        #expect(try await store.ledger().accepted == 2)
    }

    @Test("an earlier copy put in the file's place, and the contents saved from a damaged file, are the same store")
    func restored() async throws {
        var store = try SQLiteStore(at: folder.file())
        try await store.file([.sample("1")])
        let id = store.contentsID
        await store.close()
        try FileManager.default.copyItem(at: folder.file(), to: folder.file("backup"))
        store = try SQLiteStore(at: folder.file())
        try await store.file([.sample("2")])
        await store.close()
        try FileManager.default.removeItem(at: folder.file())
        try FileManager.default.moveItem(at: folder.file("backup"), to: folder.file())
        store = try SQLiteStore(at: folder.file())
        #expect(store.contentsID == id)
        try await store.deliver(1)
        await store.close()
        try Data().write(to: folder.file())
        store = try SQLiteStore(at: folder.file())
        #expect(store.hasSetAsideDamage)
        #expect(store.contentsID == id)
        await store.close()
    }
}
