import AdapterKit
import Experimentation
import ExperimentationTesting
import MockVendors
import Testing
import Waiting

@testable import FlagshipAdapter

@Suite("Flagship: the first fetch in bucketing mode", .timeLimit(.minutes(10)))
struct FirstFetchTests {
    @Test("it waits for the first file, and decides with it")
    func waits() async throws {
        let bench = try await Bench()
        let visitor = await bench.flagship(.bucketing).newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        #expect(visitor.fetchStatus == .fetched && visitor.flag("cta").value(default: "none") == "new")
    }

    @Test("it waits no longer than a question to the Decision API may take, while the download continues")
    func limit() async throws {
        let bench = try await Bench()
        let answer = AsyncGate()
        defer { answer.open() }
        bench.transport.fail("bucketing", .delayed(answer))
        let flagship = await bench.flagship(.bucketing) { $0.timeout = .seconds(3) }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        let fetching = Task { await visitor.fetchFlags() }
        try await eventually("the time limit begins") { bench.time.untilNextWake == .seconds(3) }
        #expect(visitor.fetchStatus == .fetching)
        bench.time.advance(by: .seconds(3))
        await fetching.value
        #expect(visitor.fetchStatus == .fetchRequired && visitor.fetchReason == .fetchError)
        #expect(flagship.status == .initializing)
        #expect(bench.log.entries.contains { $0.event == "flagship.SYNCHRONIZE" && $0.level == .error })
        answer.open()
        #expect(await bench.eventually { flagship.status == .initialized })
        await visitor.fetchFlags()
        #expect(visitor.fetchStatus == .fetched)
        #expect(bench.transport.exchanges("bucketing").count == 1)
    }
}
