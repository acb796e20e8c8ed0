import Experimentation
import ExperimentationTesting
import Testing

@Suite("A report on a batch")
struct DeliveryReportTests {
    private let outage = Verdict.outage()

    @Test("a single verdict applies to every event, however many there are")
    func all() {
        let report = DeliveryReport(.delivered)
        #expect(report.verdicts == .all(.delivered))
        #expect(report.verdicts(count: 3) == [.delivered, .delivered, .delivered])
        #expect(report.verdicts(count: 0) == [])
        #expect(report.verdicts(count: -1) == [])
        #expect([-1, 0, 1_000].map { report[$0] } == [nil, .delivered, .delivered])
    }

    @Test(
        "a report that is too long is cut, and one that is too short has no answer for the rest",
        arguments: [
            (-1, []), (0, []), (1, [.delivered]), (2, [.delivered, nil]), (3, [.delivered, nil, .split("413")]),
            (5, [.delivered, nil, .split("413"), nil, nil]),
        ] as [(Int, [Verdict?])]
    )
    func each(count: Int, verdicts: [Verdict?]) {
        let report = DeliveryReport([.delivered, nil, .split("413")])
        #expect(report.verdicts(count: count) == verdicts)
        #expect([-1, 0, 1, 2, 3].map { report[$0] } == [nil, .delivered, nil, .split("413"), nil])
    }

    @Test("a new report has no answer to any event")
    func noAnswer() {
        var report = DeliveryReport(noAnswerTo: 3)
        #expect(report.verdicts == .each([nil, nil, nil]))
        report[1] = .delivered
        #expect(report.verdicts == .each([nil, .delivered, nil]))
        report[1] = nil
        #expect(report.verdicts == .each([nil, nil, nil]))
        #expect(DeliveryReport(noAnswerTo: -1).verdicts == .each([]))
    }

    @Test("setting a later position leaves those before it without an answer")
    func setBeyond() {
        var report = DeliveryReport([.delivered])
        report[-1] = .delivered
        report[5] = nil
        #expect(report.verdicts == .each([.delivered]))
        report[2] = outage
        #expect(report.verdicts == .each([.delivered, nil, outage]))
    }

    @Test("a single verdict never reports an event as delivered that isn't covered")
    func setOfAll() {
        var report = DeliveryReport(.delivered)
        report[7] = .delivered
        report[-1] = outage
        #expect(report.verdicts == .all(.delivered))
        report[1] = outage
        #expect(report.verdicts(count: 4) == [.delivered, outage, nil, nil])

        var sized = DeliveryReport(.delivered)
        sized.verdicts = .each(sized.verdicts(count: 3))
        sized[1] = nil
        #expect(sized.verdicts(count: 3) == [.delivered, nil, .delivered])
    }

    @Test("reports of parts are merged at their events' positions, with campaigns and kill switch")
    func parts() {
        let campaign = Campaign(id: "c", target: "t", experience: Variation(id: "v"))
        let received = ["3", "0"].map { ReceivedCampaign(eventID: $0, campaign: campaign) }
        var report = DeliveryReport(noAnswerTo: 5)
        report.add(DeliveryReport(.delivered, campaigns: [received[0]]), at: [3, 1])
        report.add(
            DeliveryReport([outage, .delivered, .delivered], campaigns: [received[1]], isDisabled: true),
            at: [0]
        )
        report.add(DeliveryReport([.rejected("no")]), at: [2, 4])
        report.add(DeliveryReport(.delivered), at: [])
        #expect(report.verdicts == .each([outage, .delivered, .rejected("no"), .delivered, nil]))
        #expect(report.campaigns == received)
        #expect(report.isDisabled)
    }

    @Test("a report of another length than its batch assigns no verdict to a wrong event", arguments: [0, 1, 3, 8])
    func otherLength(length: Int) async throws {
        let time = ManualTime()
        let vendor = ScriptedVendor { _ in DeliveryReport(Array(repeating: .delivered, count: length)) }
        let client = try await vendor.client(time: time)
        for number in 0..<4 { try await client.session(for: User(id: "\(number)")).track(.numbered(number)) }
        #expect(try await client.flush(retrying: false).isDone == (length >= 4))
        #expect(vendor.record.received.compactMap(\.event.number) == Array(0..<min(length, 4)))
        let delivered = min(length, 4)
        try await client.expectBalance(Ledger(accepted: 4, delivered: delivered, pending: 4 - delivered))
    }
}
