import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import ExperimentationSQLite

@Suite("The store in the application's own folder")
struct ApplicationSupportTests {
    private func folder() -> URL {
        FileManager.default.temporaryDirectory.appending(path: "support-\(UUID().uuidString)")
    }

    @Test("state of one run is there in the next one, in a file of the given name")
    func isDurable() async throws {
        let folder = folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try await ClientStore.applicationSupport(named: "vendor", in: folder).state.setValue([1, 2], for: "key")
        let later = try ClientStore.applicationSupport(named: "vendor", in: folder)
        #expect(try await later.state.value(for: "key") == [1, 2])
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "vendor.sqlite").path))
    }

    @Test("a store that can't be opened is replaced by one in memory, and the log says why")
    func inMemory() async throws {
        let log = RecordingLog()
        let store = ClientStore.openOrInMemory(log: log, event: "shop.store") { () throws(ExperimentationError) in
            try .applicationSupport(named: "..", in: folder())
        }
        #expect(log.entries.map(\.event) == ["shop.store"] && log.entries.map(\.level) == [.error])
        #expect(log.entries.first?.message == "Nothing outlives the process: \"..\" is no name for a store's file.")
        try await store.state.setValue([1], for: "key")
        #expect(try await store.state.value(for: "key") == [1])
    }

    @Test(
        "a name that would leave the folder, or be hidden in it, is rejected",
        arguments: ["", "..", ".x", "a/b", "a b", "é"]
    )
    func refusesNames(name: String) {
        let folder = folder()
        #expect(
            throws: ExperimentationError(.configuration, "\"\(name)\" is no name for a store's file.")
        ) { _ = try ClientStore.applicationSupport(named: name, in: folder) }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test(
        "on Linux the folder is XDG_DATA_HOME, or its default",
        arguments: [
            ([:], "/home/ada/.local/share"), (["XDG_DATA_HOME": "/data"], "/data"),
            (["XDG_DATA_HOME": ""], "/home/ada/.local/share"), (["XDG_DATA_HOME": "data"], "/home/ada/.local/share"),
        ] as [([String: String], String)]
    )
    func dataFolder(environment: [String: String], path: String) {
        let found = ClientStore.dataFolder(environment: environment, home: URL(filePath: "/home/ada"))
        #expect(found.path == path)
    }
}
