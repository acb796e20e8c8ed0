import Experimentation
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import EngageAdapter

@Suite("A user's order across Engage's two interfaces")
struct OrderTests {
    let bench = EngageWorkbench()

    /// Creates events by user: `out` withdraws consent, any other name is a behavior.
    private func batch(_ events: [(user: String, name: String)]) -> [Envelope] {
        events.enumerated().map { place, one in
            Envelope(
                id: "\(place)",
                identity: Identity(id: one.user),
                event: one.name == "out" ? TrackingEvent(.consentChanged(granted: false)) : .custom(one.name),
                date: bench.time.now
            )
        }
    }

    /// Returns a sink, and the id of a user who is a recipient.
    private func sink() async throws -> (any EventSink, String) {
        let engage = bench.engage { $0.recipients.optsOutOnDenial = true }
        let user = try await engage.mobileIdentity.setupRecipient().mobileUserID
        bench.forgetExchanges()
        return (engage.events, user)
    }

    private var names: [String] {
        get async throws { try await bench.behaviors().map { $0["Event Name"] ?? "?" } }
    }

    @Test("an opt-out is sent between its user's earlier and later events")
    func between() async throws {
        let (sink, ada) = try await sink()
        let batch = batch([(ada, "1"), ("ben", "2"), (ada, "out"), (ada, "3"), ("ben", "4")])
        let report = await sink.deliver(batch)
        #expect(report.verdicts == .each(batch.map { _ in .delivered }))
        #expect(bench.operations.filter { $0 != "token" } == ["events", "OptOutRecipient", "events"])
        #expect(try await names == ["1", "2", "4", "3"])
        #expect(try await bench.recipients().map(\.optedOut) == [true])
    }

    @Test("behaviours alone are one request, and an opt-out goes first if order allows")
    func usual() async throws {
        let (sink, ada) = try await sink()
        _ = await sink.deliver(batch([("ben", "1"), ("ben", "2"), ("cleo", "3")]))
        #expect(bench.operations.filter { $0 != "token" } == ["events"])
        bench.forgetExchanges()
        _ = await sink.deliver(batch([("ben", "4"), (ada, "out"), (ada, "5")]))
        #expect(bench.operations == ["OptOutRecipient", "events"])
        #expect(try await names == ["1", "2", "3", "4", "5"])
    }

    @Test("events after a failed opt-out of their user wait unsent, and other users' behaviours are sent")
    func failedOptOut() async throws {
        let (sink, ada) = try await sink()
        await bench.fault(500, on: "OptOutRecipient")
        let report = await sink.deliver(batch([(ada, "out"), (ada, "1"), ("ben", "2")]))
        #expect(try await names == ["2"])
        #expect(
            report.verdicts
                == .each([
                    .failed("OptOutRecipient: fault MAILING_REPORT_DATA_NOT_AVAILABLE (500)"),
                    .split("an earlier event of the user wasn't taken"),
                    .delivered,
                ])
        )
    }

    @Test(
        "an opt-out counts no attempt for the vendor's own failures, and is done if it was done before",
        arguments: [
            ("OptOutRecipient", 50, .outage(because: .fault(.serverError))),
            ("SelectRecipientData", 50, .outage(because: .fault(.serverError))),
            ("OptOutRecipient", 315, .outage(because: .fault(.recipientOptOutInternalError))),
            ("OptOutRecipient", 129, .delivered),
            ("OptOutRecipient", 128, .failed("OptOutRecipient: fault RECIPIENT_NOT_LIST_MEMBER (128)")),
            ("OptOutRecipient", 150, .failed("OptOutRecipient: fault INVALID_PERMISSIONS (150)")),
            ("SelectRecipientData", 150, .failed("SelectRecipientData: fault INVALID_PERMISSIONS (150)")),
        ] as [(String, Int, Verdict)]
    )
    func optOutFault(operation: String, code: Int, verdict: Verdict) async throws {
        let engage = bench.engage { $0.recipients.optsOutOnDenial = true }
        _ = try await bench.addRecipient(["Mobile User Id": "ada"])
        await bench.fault(code, on: operation)
        let report = await engage.events.deliver(batch([("ada", "out")]))
        #expect(report.verdicts == .each([verdict]))
    }

    @Test(
        "an opt-out refused because of the list stops deliveries, as the list is wrong for all users",
        arguments: [106, 310]
    )
    func wrongList(code: Int) async throws {
        let (sink, ada) = try await sink()
        await bench.fault(code, on: "OptOutRecipient")
        let report = await sink.deliver(batch([(ada, "out")]))
        guard case .each(let verdicts) = report.verdicts, case .stop(let error) = verdicts.first else {
            Issue.record("\(report.verdicts)")
            return
        }
        #expect(error.code == .configuration)
    }

    @Test("an opt-out waits for a recipient that is still being added")
    func optOutWhileAdding() async throws {
        let engage = bench.engage { $0.recipients.optsOutOnDenial = true }
        let user = try await engage.mobileIdentity.prepareRecipient()
        bench.hold("AddRecipient")
        defer { bench.letGo() }
        let setup = Task { try await engage.mobileIdentity.setupRecipient() }
        try await bench.isHolding()
        try await engage.profile.forget(user)
        let optOut = batch([(user, "out")])
        let delivery = Task { await engage.events.deliver(optOut) }
        try await eventually("the opt-out in line") { engage.mobileIdentity.turn.waiting == 1 }
        bench.letGo()
        await #expect(throws: ExperimentationError.self) { try await setup.value }
        let report = await delivery.value
        #expect(report.verdicts == .each([.delivered]))
        #expect(try await bench.recipients().map(\.optedOut) == [true])
    }

    @Test("an opt-out waits unsent if its user's earlier events couldn't be posted")
    func failedBehavior() async throws {
        let (sink, ada) = try await sink()
        bench.plan(.status(503), on: "events")
        let report = await sink.deliver(batch([(ada, "1"), (ada, "out"), (ada, "2")]))
        #expect(bench.operations.filter { $0 != "token" } == ["events"])
        #expect(report.verdicts == .each(Array(repeating: .outage(because: .answered(503)), count: 3)))
        #expect(try await bench.recipients().map(\.optedOut) == [false])
    }
}
