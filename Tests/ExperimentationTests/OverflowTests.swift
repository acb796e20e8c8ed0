import ExperimentationTesting
import Testing
import Waiting

@testable import Experimentation

@Suite("More events than fit", .timeLimit(.minutes(5)))
struct OverflowTests {
    private func client(
        _ vendor: ScriptedVendor,
        most: Int = .max,
        options: ClientOptions = ClientOptions(),
        time: any TimeSource = ManualTime(),
        log: any LogSink = NoLog()
    ) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: vendor,
            store: ClientStore(outbox: InMemoryOutboxStore(maximumCount: most), state: InMemoryStateStore()),
            options: options,
            environment: ClientEnvironment(time: time, jitter: { 0 }, log: log)
        )
    }

    private func patient() -> ScriptedVendor {
        ScriptedVendor(batching: BatchPolicy(count: .max, largest: 100, interval: .seconds(3_600)))
    }

    @Test("by default twelve thousand events wait without a drop")
    func roomy() async throws {
        let client = try await ExperimentationClient(
            provider: patient(),
            environment: ClientEnvironment(time: ManualTime())
        )
        await client.setConnectivity(.offline)
        try await withThrowingTaskGroup { group in
            for lane in 0..<12 {
                let session = client.session(for: User(id: "u\(lane)"))
                group.addTask { for number in 0..<1_000 { try await session.track(.numbered(number)) } }
            }
            try await group.waitForAll()
        }
        #expect(try await client.ledger() == Ledger(accepted: 12_000, pending: 12_000))
        await client.shutdown(within: .zero)
    }

    @Test("the first drop is reported and logged, then each tenfold increase")
    func announced() async throws {
        let log = RecordingLog(level: .error)
        let client = try await client(patient(), most: 5, log: log)
        await client.setConnectivity(.offline)
        let events = client.statusEvents()
        let session = client.session(for: User(id: "ada"))
        for number in 0..<125 { try await session.track(.numbered(number)) }
        #expect(try await client.ledger().dropped == [.overflow: 120])
        #expect(log.entries.map(\.event) == Array(repeating: "outbox.overflow", count: 3))
        let counts = log.entries.map { entry in entry.message.split(separator: " ").compactMap { Int($0) } }
        #expect(counts == [[1], [10], [100]])
        await client.shutdown(within: .zero)
        var told: [ProviderEvent] = []
        for await event in events where event.kind == .eventsDropped { told.append(event) }
        #expect(told.map(\.status) == [.notReady, .notReady, .notReady])
        #expect(told.map { $0.error?.message } == log.entries.map(\.message))
    }

    @Test("with back-pressure that rejects, nothing is dropped and nothing more is accepted")
    func refused() async throws {
        let client = try await client(patient(), options: ClientOptions(backPressure: .refuse(above: 10)))
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "ada"))
        for number in 0..<10 { try await session.track(.numbered(number)) }
        await #expect {
            try await session.track(.numbered(10))
        } throws: {
            ($0 as? ExperimentationError)?.code == .outboxFull
        }
        #expect(try await client.ledger() == Ledger(accepted: 10, pending: 10))
        await client.shutdown(within: .zero)
    }

    @Test("with back-pressure that rejects, as many concurrent calls are accepted as have room")
    func refusedTogether() async throws {
        let client = try await client(patient(), options: ClientOptions(backPressure: .refuse(above: 10)))
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "ada"))
        let accepted = await withTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    do { try await session.track(.numbered(number)) } catch { return 0 }
                    return 1
                }
            }
            return await group.reduce(0, +)
        }
        #expect(accepted == 10)
        #expect(try await client.ledger() == Ledger(accepted: 10, pending: 10))
        await client.shutdown(within: .zero)
    }

    @Test("with back-pressure that waits, a delivery lets in as many callers as it made room for")
    func waitsTogether() async throws {
        let batching = BatchPolicy(count: .max, largest: 4, interval: .seconds(3_600))
        let vendor = ScriptedVendor(batching: batching) { batch in
            DeliveryReport(batch.first?.event.number == 0 ? .delivered : .outage())
        }
        let time = ManualTime()
        let options = ClientOptions(backPressure: .wait(above: 4, atMost: .seconds(30)))
        let client = try await client(vendor, options: options, time: time)
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "ada"))
        for number in 0..<4 { try await session.track(.numbered(number)) }
        let late = (4..<24).map { number in Task { try await session.track(.numbered(number)) } }
        await time.waitForSleepers(20)
        await client.setConnectivity(.online)
        _ = try await client.flush(retrying: false)
        try await eventually("four more are accepted") { try await client.ledger().accepted >= 8 }
        for _ in 0..<500 { await Task.yield() }
        #expect(try await client.ledger() == Ledger(accepted: 8, delivered: 4, pending: 4))
        for task in late { task.cancel() }
        for task in late { _ = await task.result }
        await client.shutdown(within: .zero)
    }

    @Test("with back-pressure that waits, track continues as soon as events have been delivered")
    func waits() async throws {
        let vendor = patient()
        let time = ManualTime()
        let options = ClientOptions(backPressure: .wait(above: 10, atMost: .seconds(30)))
        let client = try await client(vendor, options: options, time: time)
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "ada"))
        for number in 0..<10 { try await session.track(.numbered(number)) }
        async let late = session.track(.numbered(10))
        await time.waitForSleepers(1)
        #expect(try await client.ledger().accepted == 10)
        await client.setConnectivity(.online)
        try await client.flush(retrying: false)
        _ = try await late
        #expect(try await client.ledger().accepted == 11)
        await client.shutdown(within: .zero)
    }

    @Test("with back-pressure that waits, track throws after its time limit")
    func waitsInVain() async throws {
        let time = ManualTime()
        let options = ClientOptions(backPressure: .wait(above: 1, atMost: .milliseconds(500)))
        let client = try await client(patient(), options: options, time: time)
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "ada"))
        try await session.track(.numbered(0))
        let late = Task { try await session.track(.numbered(1)) }
        await time.waitForSleepers(1)
        time.advance(by: .seconds(1))
        await #expect { try await late.value } throws: { ($0 as? ExperimentationError)?.code == .outboxFull }
        await client.shutdown(within: .zero)
    }

    @Test("with back-pressure that waits, a cancelled call's error says so, and not that too many events wait")
    func cancelled() async throws {
        let time = ManualTime()
        let options = ClientOptions(backPressure: .wait(above: 1, atMost: .seconds(30)))
        let client = try await client(patient(), options: options, time: time)
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "ada"))
        try await session.track(.numbered(0))
        let late = Task { try await session.track(.numbered(1)) }
        await time.waitForSleepers(1)
        late.cancel()
        await #expect { try await late.value } throws: { ($0 as? ExperimentationError)?.code == .cancelled }
        #expect(try await client.ledger() == Ledger(accepted: 1, pending: 1))
        await client.shutdown(within: .zero)
    }
}
