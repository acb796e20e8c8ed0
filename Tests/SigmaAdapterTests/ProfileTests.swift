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
        private let count = Atomic(0)

        var isHolding: Bool { held.withLock { $0 != nil } }
        /// How often the user was written.
        var writes: Int { count.load(ordering: .relaxed) }

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            if key.hasSuffix("/user"), count.add(1, ordering: .relaxed).oldValue == 0 {
                await withCheckedContinuation { continuation in held.withLock { $0 = continuation } }
            }
            try await baseState.setValue(value, for: key)
        }

        func letGo() { held.withLock { $0 }?.resume() }
    }

    /// Notes which records are written.
    final class Noting: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        private let written = Mutex<[String]>([])

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            written.withLock { $0.append(String(key.split(separator: "/").last ?? "")) }
            try await baseState.setValue(value, for: key)
        }

        /// Returns the records written since the last call.
        func take() -> [String] {
            written.withLock { written in
                defer { written = [] }
                return written
            }
        }
    }

    /// Fails every read until it is repaired.
    final class Unreadable: StateStoreDecorator {
        let baseState: any StateStore
        private let isReadable = Atomic(false)

        init(_ base: any StateStore) { baseState = base }

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            guard isReadable.load(ordering: .relaxed) else { throw ExperimentationError(.store, "can't be read") }
            return try await baseState.value(for: key)
        }

        func repair() { isReadable.store(true, ordering: .relaxed) }
    }

    /// Fails to store the forced list once.
    final class Failing: StateStoreDecorator {
        let baseState: any StateStore
        private let isFirst = Atomic(true)

        init(_ base: any StateStore) { baseState = base }

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            if key.hasSuffix("/sigmaForcedExperiments"), isFirst.exchange(false, ordering: .relaxed) {
                throw ExperimentationError(.store, "can't be written")
            }
            try await baseState.setValue(value, for: key)
        }
    }

    /// A client's data about its user.
    private struct Known: Equatable {
        var id: String
        var properties: [String: String]
        var forced: [String: Int?]

        init(id: String, properties: [String: String], forced: [String: Int?]) {
            (self.id, self.properties, self.forced) = (id, properties, forced)
        }

        init(by client: SigmaClient) async throws {
            let context = await client.profile.evaluated().context
            id = await client.profile.privateID()
            properties = context.user.attributes.values.compactMapValues(\.stringValue)
            forced = await client.profile.forced()
        }

        static let ada = Known(
            id: "ada's",
            properties: ["userId": "u-1", "os.name": "iOS", "appVersion": "2.10.0", "email": "ada@example.com"],
            forced: ["closed": 1]
        )

        /// Makes a client store Ada's properties.
        static func store(on stage: Stage) async throws {
            let client = try stage.client(stage.user { $0.setEmail("ada@example.com") }) {
                $0.importing = SigmaSDKRecords(privateID: "ada's")
            }
            try await client.includeForce(experimentName: "closed", groupIndex: 1)
        }
    }

    @Test("a store that can't be read for a while loses neither the generated id nor the user nor the list")
    func unreadable() async throws {
        let stage = try Stage()
        try await Known.store(on: stage)
        let client = try stage.client { $0.store = Unreadable(stage.store) }
        #expect(try await client.text("button") == "red")
        await client.saved()
        #expect(try await Known(by: stage.client()) == .ada)
    }

    @Test("a store that can't be read is logged once, however many calls try")
    func unreadableLogged() async throws {
        let (stage, log) = (try Stage(), RecordingLog(level: .warning))
        let client = try stage.client {
            $0.store = Unreadable(stage.store)
            $0.environment.log = log
        }
        for _ in 0..<3 { _ = try await client.text("button") }
        let error = ExperimentationError(.store, "can't be read")
        #expect(log.entries == [LogEntry(.error, "sigma.store", "The user can't be read: \(error)")])
    }

    @Test("changes made while the store can't be read are stored with the rest once it can")
    func editedUnread() async throws {
        let stage = try Stage()
        try await Known.store(on: stage)
        let store = Unreadable(stage.store)
        let client = try stage.client { $0.store = store }
        client.editUserProperties { $0.setCustomProperty("pro", key: "plan") }
        try await client.includeForce(experimentName: "closed", groupIndex: 0)
        #expect(try await client.text("chat") == "true")
        store.repair()
        var changed = Known.ada
        changed.properties["custom.plan"] = "pro"
        changed.forced["closed"] = 0
        #expect(try await Known(by: client) == changed)
        await client.saved()
        #expect(try await Known(by: stage.client()) == changed)
    }

    @Test("the records of the vendor's SDK count until all of them are stored")
    func importNotStored() async throws {
        let stage = try Stage()
        let records = SigmaSDKRecords(privateID: "old", forced: ["closed": 1])
        let client = try stage.client {
            $0.importing = records
            $0.store = Failing(stage.store)
        }
        _ = try await client.text("button")
        await client.saved()
        let known = Known(id: "old", properties: [:], forced: ["closed": 1])
        #expect(try await Known(by: stage.client { $0.importing = records }) == known)
    }

    @Test("a change that couldn't be stored is stored with the next change of anything else")
    func storedLater() async throws {
        let stage = try Stage()
        let client = try stage.client {
            $0.importing = SigmaSDKRecords(privateID: "old", forced: ["closed": 1])
            $0.store = Failing(stage.store)
        }
        _ = try await client.text("button")
        await client.saved()
        client.editUserProperties { $0.setEmail("ada@example.com") }
        await client.saved()
        let known = Known(id: "old", properties: ["email": "ada@example.com"], forced: ["closed": 1])
        #expect(try await Known(by: stage.client()) == known)
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
        let context = await later.profile.evaluated().context
        #expect(context.user.attributes["email"] == "ada@example.com")
    }

    @Test("changes made while the store is busy are stored together")
    func together() async throws {
        let stage = try Stage()
        let store = Holding()
        let client = try stage.client(stage.user()) { $0.store = store }
        let reading = Task { try await client.text("button") }
        try await eventually("a held write") { store.isHolding }
        for number in 0..<100 { client.editUserProperties { $0.setCustomProperty(number, key: "n") } }
        store.letGo()
        await client.saved()
        #expect(store.writes == 2)
        #expect(try await Known(by: stage.client { $0.store = store }).properties["custom.n"] == "99")
        _ = try await reading.value
    }

    @Test("a change writes the record that it changes, and no other")
    func sparingly() async throws {
        let (stage, store) = (try Stage(), Noting())
        let client = try stage.client { $0.store = store }
        _ = try await client.text("button")
        await client.saved()
        #expect(Set(store.take()) == ["config", "user", "sigmaForcedExperiments", "sigmaPrivateId"])
        client.editUserProperties { $0.setEmail("ada@example.com") }
        await client.saved()
        #expect(store.take() == ["user"])
        try await client.includeForce(experimentName: "closed", groupIndex: 1)
        #expect(store.take() == ["sigmaForcedExperiments"])
        _ = try await stage.client { $0.store = store }.text("button")
        #expect(store.take() == [])
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
