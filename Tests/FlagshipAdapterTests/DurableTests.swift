import AdapterKit
import Experimentation
import ExperimentationTesting
import FlagshipAdapter
import FlagshipSQLite
import Foundation
import Testing

@Suite("Flagship: durable by default")
struct DurableTests {
    private func start(_ bench: Bench, in folder: URL) async -> Flagship {
        await Flagship.start(
            environmentID: Bench.environmentID,
            apiKey: Secret(Bench.apiKey),
            in: folder,
            transport: bench.transport,
            environment: bench.environment
        )
    }

    @Test("without a store, hits, flags and the anonymous id are available in the next run")
    func isDurable() async throws {
        let bench = try await Bench()
        let folder = FileManager.default.temporaryDirectory.appending(path: "flagship-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        bench.transport.fail("hits", .error(.transport), times: 50)
        let first = await start(bench, in: folder)
        let visitor = await first.newVisitor("ada", hasConsented: true).authenticated(true).build()
        await visitor.fetchFlags()
        await visitor.sendHit(.screen("home"))
        await first.close()
        bench.transport.heal()
        bench.transport.fail("campaigns", .error(.transport), times: 50)
        bench.time.advance(by: .seconds(300))

        let second = await start(bench, in: folder)
        let again = await second.newVisitor("ada", hasConsented: true).authenticated(true).build()
        #expect(again.anonymousID == visitor.anonymousID)
        #expect(again.flag("cta").value(default: "none", visitorExposed: false) == "new")
        try await second.client?.flush()
        #expect(await bench.hits.compactMap { $0["dl"] } == ["home"])
        await second.close()
    }

    @Test("a file that can't be opened is logged, and Flagship starts anyway")
    func withoutFile() async throws {
        let bench = try await Bench()
        let flagship = await start(bench, in: URL(filePath: "/dev/null/nowhere"))
        #expect(flagship.status == .initialized)
        #expect(bench.log.entries.contains { $0.event == "flagship.CACHE" && $0.level == .error })
        await flagship.close()
    }
}
