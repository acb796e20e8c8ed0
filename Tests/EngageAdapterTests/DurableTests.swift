import EngageSQLite
import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EngageAdapter

@Suite("Engage stores on the device what the vendor's SDK stores")
struct DurableTests {
    private let bench = EngageWorkbench()
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    private func client(log: any LogSink = NoLog()) async throws -> ExperimentationClient {
        try await Engage.client(
            EngageWorkbench.configuration(),
            in: folder,
            transport: bench.transport,
            environment: ClientEnvironment(time: bench.time, log: log)
        )
    }

    @Test("without a given store, events and the mobile user id survive the process")
    func outlives() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try await client()
        await first.setConnectivity(.offline)
        let id = try await Engage(of: first).mobileIdentity.prepareRecipient()
        try await first.session(for: User(id: id)).track(.custom("A"))
        await first.shutdown(within: .zero)
        #expect(bench.exchanges.isEmpty)

        let second = try await client()
        #expect(try await Engage(of: second).mobileIdentity.prepareRecipient() == id)
        _ = try await second.flush(within: .seconds(5))
        #expect(try await bench.behaviors().map { $0["Event Name"] } == ["A"])
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "engage.sqlite").path))
        await second.shutdown(within: .zero)
    }

    @Test("a file that can't be opened is logged as an error, and everything works in memory")
    func noFile() async throws {
        try Data().write(to: folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        let log = RecordingLog()
        let client = try await client(log: log)
        #expect(log.entries.filter { $0.level == .error }.map(\.event) == ["engage.store"])
        try await client.session(for: User(id: "ada")).track(.custom("A"))
        _ = try await client.flush(within: .seconds(5))
        #expect(try await bench.behaviors().map { $0["Event Name"] } == ["A"])
        await client.shutdown(within: .zero)
    }
}
