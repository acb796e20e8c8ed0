import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import SigmaSQLite
import Synchronization
import Testing
import Waiting

@testable import SigmaAdapter

@Suite("A client's stored user")
struct ProfileTests {
    /// Holds back the first write of the user until it is released.
    final class Holding: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        private let held = Mutex<CheckedContinuation<Void, Never>?>(nil)
        private let isFirst = Atomic(true)

        var isHolding: Bool { held.withLock { $0 != nil } }

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            if key.hasSuffix("/user"), isFirst.exchange(false, ordering: .relaxed) {
                await withCheckedContinuation { continuation in held.withLock { $0 = continuation } }
            }
            try await baseState.setValue(value, for: key)
        }

        func letGo() { held.withLock { $0 }?.resume() }
    }

    @Test("restored state is written before an edit made meanwhile, and doesn't replace it")
    func order() async throws {
        let stage = try Stage()
        let store = Holding()
        let client = try stage.client { $0.store = store }
        let reading = Task { try await client.text("button") }
        try await eventually("a held write") { store.isHolding }
        client.editUserProperties { $0.setEmail("ada@example.com") }
        for _ in 0..<1_000 { await Task.yield() }
        store.letGo()
        await client.saved()
        _ = try await reading.value
        let later = try stage.client { $0.store = store }
        let context = await later.profile.context(for: try Reference.ruleset().project)
        #expect(context.user.attributes["email"] == "ada@example.com")
    }

    @Test("without options a client keeps its generated id, its user and its list in a file of the application's own")
    func durable() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sigma-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var ids: [String] = []
        for _ in 0..<2 {
            let tag = UUID().uuidString
            // Another tag makes another client in this process, with the same records.
            var options = try SigmaClientOptions.durable(in: folder)
            options.transport = MockTransport(try Stage().sigma)
            let client = try SigmaClientRegistry().initializeClient(projectToken: "a", options: options)
            ids.append(await client.profile.privateID())
            await client.saved()
            let plain = try Sigma.initializeClient(projectToken: "b", tag: tag, in: folder)
            #expect(Sigma.getClient(tag: tag) === plain)
            Sigma.removeClient(tag: tag)
        }
        #expect(ids[0] == ids[1] && ids[0].count == 80)
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "sigma.sqlite").path))
    }

    @Test("a file that can't be opened is logged as an error, and everything works in memory")
    func noFile() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "sigma-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (log, tag, stage) = (RecordingLog(), UUID().uuidString, try Stage())
        let client = try Sigma.initializeClient(
            projectToken: SigmaMock.token,
            initialUser: stage.user(),
            apiURL: "https://sigma.example/api/v1/",
            tag: tag,
            in: file,
            transport: stage.transport,
            environment: ClientEnvironment(log: log)
        )
        defer { Sigma.removeClient(tag: tag) }
        #expect(log.entries.filter { $0.level == .error }.map(\.event) == ["sigma.store"])
        #expect(try await !client.getUserFeatureFlagsDetails().isEmpty)
        #expect(stage.transport.paths == ["/api/v1/config.json"])
    }
}
