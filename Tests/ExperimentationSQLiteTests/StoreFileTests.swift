import Experimentation
import ExperimentationTesting
import Foundation
import GRDB
import Testing

@testable import ExperimentationSQLite

@Suite("The store's files")
struct StoreFileTests {
    private let folder = TemporaryFolder()

    private func mode(_ name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.url.appendingPathComponent(name).path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test(
        "P62 folder and files are accessible only to their owner, whatever the umask, even after damage",
        .serialized,
        arguments: [0, 0o022]
    )
    func modes(mask: Int) async throws {
        let before = umask(mode_t(mask))
        defer { umask(before) }
        for round in 0..<2 {
            let store = try SQLiteStore(at: folder.file())
            try await store.append([.sample("a\(round)")])
            try await store.setValue([1], for: "k")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
            #expect(files.count >= 4)
            for file in files { #expect(try mode(file) == 0o600, "\(file)") }
            #expect(try mode(".") == 0o700)
            #expect(store.hasSetAsideDamage == (round == 1))
            await store.close()
            // Damaged and readable by everyone.
            try Data(repeating: 7, count: 9_000).write(to: folder.file())
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: folder.file().path)
        }
    }

    @Test(
        "P62 missing parent folders are created for their owner only",
        .serialized,
        arguments: [0, 0o022]
    )
    func foldersOnTheWay(mask: Int) async throws {
        let before = umask(mode_t(mask))
        defer { umask(before) }
        await (try SQLiteStore(at: folder.file("a/b/store.sqlite"))).close()
        for name in [".", "a", "a/b"] { #expect(try mode(name) == 0o700, "\(name)") }
    }

    @Test("P62 an existing folder keeps its mode; the files in it are accessible only to their owner")
    func otherFolder() async throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.url.path)
        // Even if the owner could only read it: restricting a file to its owner includes writing.
        for ending in ["", "-lock"] {
            #expect(FileManager.default.createFile(atPath: folder.file().path + ending, contents: Data()))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o444],
                ofItemAtPath: folder.file().path + ending
            )
        }
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("a")])
        #expect(try mode(".") == 0o755)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(files.count >= 4)
        for file in files { #expect(try mode(file) == 0o600, "\(file)") }
        await store.close()
    }

    @Test("P59 links and folders in place of the file aren't followed")
    func links() throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        let target = folder.file("target")
        try Data("precious".utf8).write(to: target)
        for ending in ["", "-wal", "-shm", "-lock"] {
            let link = folder.file("link.sqlite" + ending)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
            #expect(throws: ExperimentationError.self) { try SQLiteStore(at: folder.file("link.sqlite")) }
            try FileManager.default.removeItem(at: link)
        }
        #expect(throws: ExperimentationError.self) { try SQLiteStore(at: folder.url) }
        #expect(try Data(contentsOf: target) == Data("precious".utf8))
    }

    @Test("P21 P59 one file for each application, vendor and account, named by a digest")
    func folderOfMany() async throws {
        let hostile = ["", "a", "../../etc/passwd", "a/b", "\u{0}", String(repeating: "é", count: 4_096), "key:secret"]
        var stores: [ClientStore] = []
        for name in ["one", "two"] {
            for scope in hostile {
                for application in ["app", "other"] {
                    let provider = InMemoryProvider(name: name, scope: scope)
                    stores.append(try await .sqlite(in: folder.url, for: provider, application: application))
                }
            }
        }
        for (index, store) in stores.enumerated() {
            try await store.outbox.append([.sample("\(index)", user: "u\(index)")])
        }
        for (index, store) in stores.enumerated() { #expect(try await store.outbox.deliverable() == ["\(index)"]) }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter {
            $0.hasSuffix(".sqlite")
        }
        #expect(names.count == stores.count)
        for name in names { #expect(name.dropLast(7).allSatisfy(\.isHexDigit) && name.count == 71, "\(name)") }
        #expect(try folder.occurrences(of: "secret") == 0)
    }

    @Test("P21 a file of one account is rejected for another")
    func accounts() async throws {
        let one = InMemoryProvider(name: "v", scope: "account-1")
        await (try SQLiteStore(at: folder.file(), for: one)).close()
        await (try SQLiteStore(at: folder.file(), for: one)).close()
        let error = #expect(throws: ExperimentationError.self) {
            try SQLiteStore(at: folder.file(), for: InMemoryProvider(name: "v", scope: "account-2"))
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("account-") == false)
    }

    @Test("another program's database is rejected and left unchanged")
    func foreign() async throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        let database = try DatabaseQueue(path: folder.file().path)
        try await database.write {
            try $0.execute(sql: "CREATE TABLE recipe (name TEXT); INSERT INTO recipe VALUES ('x')")
        }
        try database.close()
        let error = #expect(throws: ExperimentationError.self) { try SQLiteStore(at: folder.file()) }
        #expect(error?.code == .configuration)
        let again = try DatabaseQueue(path: folder.file().path)
        #expect(try await again.read { try String.fetchOne($0, sql: "SELECT name FROM recipe") } == "x")
    }

    @Test("errors show the file's name as given, on opening and later")
    func namedAsTyped() async throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        let url = URL(filePath: "notes.db", relativeTo: URL(filePath: folder.url.path, directoryHint: .isDirectory))
        let store = try SQLiteStore(at: url)
        await store.close()
        let closed = await #expect(throws: ExperimentationError.self) { try await store.ledger() }
        #expect(closed?.message == "notes.db: it has been closed.")
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let error = #expect(throws: ExperimentationError.self) { try SQLiteStore(at: url) }
        #expect(error?.message.hasPrefix("notes.db") == true, "\(error?.message ?? "")")
    }

    @Test("both durabilities have the database's own settings", arguments: zip(Durability.allCases, [1, 2]))
    func durability(_ durability: Durability, _ expected: Int) async throws {
        // The store checks the setting and refuses to open if it doesn't hold; opening and working is the test.
        let store = try SQLiteStore(at: folder.file(), options: .init(durability: durability))
        try await withThrowingTaskGroup { group in
            for caller in 0..<16 {
                group.addTask { try await store.append([.sample("\(caller)")]) }
            }
            try await group.waitForAll()
        }
        try await store.expectBalance(16)
        await store.close()
        let error = await #expect(throws: ExperimentationError.self) {
            try await store.append([.sample("x")])
        }
        #expect(error?.code == .store)
    }

    @Test("P17 a reserve that is too small, because the process that created it died, is extended")
    func shortReserve() async throws {
        let reserve = folder.file("store.sqlite-reserve")
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        #expect(FileManager.default.createFile(atPath: reserve.path, contents: Data()))
        let store = try SQLiteStore(at: folder.file())
        #expect(try FileManager.default.attributesOfItem(atPath: reserve.path)[.size] as? Int == 600 * 4_096)
        await store.close()
    }

    @Test("P17 while there is no room for the reserve, values are still removed, and conflicts reported")
    func valuesWithoutReserve() async throws {
        let store = try SQLiteStore(at: folder.file())
        for key in ["kept", "removed", "compared"] { try await store.setValue([1], for: key) }
        #expect(store.commits.reserve.spend())
        // Takes its place, so that it can't be created again.
        let place = folder.file("store.sqlite-reserve")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        let refusal = await #expect(throws: ExperimentationError.self) { try await store.setValue([2], for: "new") }
        #expect(refusal?.code == .store)
        try await store.setValue(nil, for: "removed")
        #expect(try await store.update("compared", to: nil, if: [1]) == .updated)
        #expect(try await store.update("kept", to: [2], if: nil) == .conflict([1]))
        let failure = await #expect(throws: ExperimentationError.self) {
            try await store.update("kept", to: [2], if: [1])
        }
        #expect(failure?.code == .store)
        #expect(try await store.keys(beginningWith: "") == ["kept"])
        await store.close()
    }
}
