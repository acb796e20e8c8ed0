import ExperimentationTesting
import Testing
import Waiting

@testable import Experimentation

@Suite("Results of a flush", .timeLimit(.minutes(10)))
struct FlushResultTests {
    private func client(needsConsent: Bool = true, _ verdict: Verdict) async throws -> ExperimentationClient {
        try await ScriptedVendor(needsConsent: needsConsent) { _ in DeliveryReport(verdict) }.client()
    }

    private static let yes = User(id: "ada", consent: .granted)
    private static let unasked = User(id: "ben")

    @Test("nothing is left when everything was delivered or dropped", arguments: [Verdict.delivered, .rejected("no")])
    func nothing(_ verdict: Verdict) async throws {
        let client = try await client(verdict)
        try await client.track(.custom("a"), for: Self.yes)
        let result = try await client.flush(retrying: false)
        #expect(result == .delivered && result.isDone)
        await client.shutdown(within: .zero)
    }

    @Test("an event held for consent is reported, although nothing could have been delivered")
    func held() async throws {
        let client = try await client(.delivered)
        try await client.track(.custom("a"), for: Self.yes)
        try await client.track(.custom("b"), for: Self.unasked)
        let result = try await client.flush(retrying: false)
        #expect(result == .held(events: 1) && result.isDone)
        await client.shutdown(within: .zero)
    }

    @Test("waiting and held events are distinguished")
    func waits() async throws {
        let client = try await client(.outage(because: .timeout))
        for name in ["a", "b"] { try await client.track(.custom(name), for: Self.yes) }
        try await client.track(.custom("c"), for: Self.unasked)
        let result = try await client.flush(retrying: false)
        #expect(result == .waits(events: 2, held: 1) && !result.isDone)
        await client.shutdown(within: .zero)
    }

    @Test("the status lists the reasons why events wait", arguments: [OutageReason.timeout, .patience, .pace])
    func reasons(_ reason: OutageReason) async throws {
        let client = try await client(.outage(because: reason))
        try await client.track(.custom("a"), for: Self.yes)
        try await client.flush(retrying: false)
        #expect(try await client.outboxStatus().failures == [reason.rawValue: 1])
        await client.shutdown(within: .zero)
    }

    @Test("the outcomes of events are counted by type")
    func counts() async throws {
        let vendor = ScriptedVendor(needsConsent: true) { batch in
            DeliveryReport(batch.map { $0.event.type == "screenView" ? .rejected("no") : .delivered })
        }
        let client = try await vendor.client()
        for number in 0..<3 {
            try await client.track(.custom("a\(number)"), for: Self.yes)
            try await client.track(.screenView("s"), for: Self.yes)
        }
        try await client.track(.custom("b"), for: Self.unasked)
        #expect(
            client.countsByType == [
                "custom": EventCounts(accepted: 4), "screenView": EventCounts(accepted: 3),
            ]
        )
        try await client.flush(retrying: false)
        #expect(
            client.countsByType == [
                "custom": EventCounts(accepted: 4, delivered: 3),
                "screenView": EventCounts(accepted: 3, dropped: [.rejected: 3]),
            ]
        )
        let ledger = try await client.ledger()
        #expect(ledger == Ledger(accepted: 7, delivered: 3, pending: 1, dropped: [.rejected: 3]))
        #expect("\(ledger.dropped)" == "[rejected: 3]")
        await client.shutdown(within: .zero)
    }

    @Test("a flush ends at once if deliveries are held, at whatever moment of its beginning", arguments: 1...12)
    func heldMeanwhile(moment: Int) async throws {
        let time = InterruptedTime()
        let client = try await ScriptedVendor().client(time: time)
        time.interrupt(moment) { client.core.outbox.set(.offline, true) }
        let result = Shared<FlushResult?>(nil)
        Task { result.value = try await client.flush(within: .seconds(60), retrying: false) }
        try await eventually("the flush ends") { result.value != nil }
        #expect(result.value == .delivered)
        await client.shutdown(within: .zero)
    }
}
