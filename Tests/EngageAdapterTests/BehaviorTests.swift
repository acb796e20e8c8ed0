import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing
import Waiting

@testable import EngageAdapter

@Suite("Universal behaviours")
struct BehaviorTests {
    let bench = EngageWorkbench()

    private func session(
        _ user: User = User(id: "M-1"),
        _ change: (inout EngageConfiguration) -> Void = { _ in }
    ) async throws -> (ExperimentationClient, UserSession) {
        let client = try await bench.client(bench.engage(change))
        return (client, client.session(for: user))
    }

    private func delivered(_ event: TrackingEvent) async throws -> EngageWorkbench.Behavior {
        let (client, session) = try await session()
        try await session.track(event)
        try await client.flush()
        return try #require(try await bench.behaviors().last)
    }

    static let kinds: [(TrackingEvent, String, [String: String])] = [
        (.installed, "12", ["Last Campaign": ""]), (.sessionStarted, "13", ["Campaign Name": ""]),
        (.sessionEnded(seconds: 61.9), "14", ["Campaign Name": "", "Session Duration": "61"]),
        (.goalAbandoned("G"), "15", ["Campaign Name": "", "Goal Name": "G"]),
        (.goalCompleted("G"), "16", ["Campaign Name": "", "Goal Name": "G"]),
        (.custom("PLAYER LOADED"), "17", ["Campaign Name": "", "Event Name": "PLAYER LOADED"]),
        (
            .notificationReceived(NotificationContent(message: "Hi", callToAction: "Open")), "48",
            ["Campaign Name": "", "Displayed Message": "Hi", "Call To Action": "Open"]
        ),
        (
            .notificationOpened(NotificationContent(payload: ["aps": ["alert": "Hi"]])), "49",
            ["Campaign Name": "", "Displayed Message": "Hi"]
        ),
        (.behavior(4711, attributes: ["a": 1]), "4711", ["Campaign Name": "", "a": "1"]),
    ]

    @Test("E51 every kind has its code; E52 each of the ten core attributes is present once", arguments: kinds)
    func kind(event: TrackingEvent, code: String, extras: [String: String]) async throws {
        let behavior = try await delivered(event)
        #expect(behavior.code == code)
        let core = [
            "Device Name": "iPhone", "Device Version": "iPhone7,2", "OS Name": "iPhone OS", "OS Version": "8.1.2",
            "App Name": "Demo", "App Version": "42", "Device Id": "DEVICE-1", "Primary User Id": "M-1",
            "Anonymous Id": "", "Recipient Id": "",
        ]
        #expect(behavior.attributes.count == Set(behavior.attributes.map(\.name)).count)
        #expect(
            Dictionary(uniqueKeysWithValues: behavior.attributes.map { ($0.name, $0.value) })
                == core.merging(extras) { $1 }
        )
    }

    @Test("E53 attributes from the caller take precedence over added ones")
    func precedence() async throws {
        let behavior = try await delivered(
            .custom(
                "x",
                attributes: ["App Name": "Mine", "Campaign Name": "C", "Event Name": "y", "Recipient Id": "9"]
            )
        )
        #expect(behavior["App Name"] == "Mine" && behavior["Campaign Name"] == "C" && behavior["Event Name"] == "y")
        #expect(behavior["Recipient Id"] == "9")
    }

    @Test(
        "E54 a list of tags is joined, and a string stays",
        arguments: [
            (FlagValue.array(["a", "b"]), "a,b"), (.string("a, b"), "a, b"), (.array([]), ""), (.int(7), "7"),
        ]
    )
    func tags(value: FlagValue, text: String) async throws {
        #expect(try await delivered(.custom("x", attributes: Attributes(["Tags": value])))["Tags"] == text)
    }

    @Test("E55 nested objects are left out, and everything else becomes a string")
    func values() async throws {
        let behavior = try await delivered(
            .custom(
                "x",
                value: 2.5,
                attributes: ["o": ["a": 1], "n": nil, "b": true, "i": 12, "d": 0.5, "whole": 3.0, "s": "q\"\\\n\u{1}"]
            )
        )
        #expect(behavior["o"] == nil && behavior["n"] == nil)
        #expect(behavior["b"] == "true" && behavior["i"] == "12" && behavior["d"] == "0.5" && behavior["whole"] == "3")
        #expect(behavior["s"] == "q\"\\\n\u{1}" && behavior["Value"] == "2.5")
    }

    @Test("E56 the timestamp is the time of creation, in UTC with milliseconds")
    func timestamp() async throws {
        let (client, session) = try await session()
        let date = Date(timeIntervalSince1970: 1_422_986_645.678)
        try await session.track(.custom("x"), at: date)
        bench.time.advance(by: .seconds(5000))
        try await client.flush()
        #expect(try await bench.behaviors().map(\.timestamp) == ["2015-02-03T18:04:05.678Z"])
        #expect(
            bench.exchanges("events").first?.request.text.contains(#""eventTimestamp":"2015-02-03T18:04:05.678Z""#)
                == true
        )
    }

    @Test(
        "timestamps of other years are formatted alike",
        arguments: [
            (0.0, "1970-01-01T00:00:00.000Z"), (-0.001, "1969-12-31T23:59:59.999Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"), (253_402_300_799, "9999-12-31T23:59:59.000Z"),
            (1e300, "9999-12-31T23:59:59.000Z"), (-1e300, "0001-01-01T00:00:00.000Z"),
            (1_735_689_599.9996, "2025-01-01T00:00:00.000Z"), (-2_203_891_200, "1900-03-01T00:00:00.000Z"),
            (-62_135_596_800.25, "0001-01-01T00:00:00.000Z"), (253_402_300_799.75, "9999-12-31T23:59:59.000Z"),
            (-62_035_891_199.75, "0004-02-29T00:00:00.250Z"), (.infinity, "9999-12-31T23:59:59.000Z"),
        ]
    )
    func years(seconds: Double, text: String) {
        #expect(EngageTimestamp.behavior(Date(timeIntervalSince1970: seconds)) == text)
    }

    @Test("E57 two events wait for their interval, and a third one sends all at once in one request")
    func batch() async throws {
        let (client, session) = try await session()
        try await session.track(.custom("1"))
        try await session.track(.custom("2"))
        func alarm(_ name: String, in seconds: Int) async throws {
            try await eventually(
                name,
                within: .seconds(20),
                seen: { "\(String(describing: bench.time.untilNextWake))" }
            ) {
                bench.time.untilNextWake == .seconds(seconds)
            }
        }
        // The delivery task has seen the second event once it waits only for the rest of the interval.
        try await alarm("the first alarm", in: 30)
        bench.time.advance(by: .seconds(29))
        try await alarm("the rest of the interval", in: 1)
        #expect(bench.exchanges("events").isEmpty)
        #expect(try await client.ledger().pending == 2)
        try await session.track(.custom("3"))
        try await eventually("an exchange") { bench.exchanges("events").count == 1 }
        #expect(try await bench.behaviors().map { $0["Event Name"] } == ["1", "2", "3"])
        // The delivery run checks once more for events, and would take the next one along.
        try await client.flush(retrying: false)
        try await session.track(.custom("4"))
        try await alarm("the next alarm", in: 30)
        bench.time.advance(by: .seconds(30))
        // The mock has an event a moment before the exchange that carried it is over.
        try await eventually("a second exchange") { bench.exchanges("events").count == 2 }
        #expect(try await bench.behaviors().count == 4)
    }

    @Test("E58 a manual flush sends one event in one request")
    func flush() async throws {
        _ = try await delivered(.custom("1"))
        #expect(bench.exchanges("events").count == 1)
    }

    @Test("E59 three rejections of an event drop it, not earlier; a 500 doesn't count")
    func attempts() async throws {
        let (client, session) = try await session()
        bench.plan(.status(500), on: "events", times: 2)
        bench.plan(.status(400), on: "events", times: 3)
        try await session.track(.custom("1"))
        // A flush may join a delivery that the advanced clock has started, and need one of its own after it.
        for _ in 0..<5 where try await client.ledger().pending > 0 {
            try await client.flush(retrying: false)
            bench.time.advance(by: .seconds(3600))
        }
        #expect(bench.exchanges("events").count == 5)
        let ledger = try await client.ledger()
        #expect(ledger.dropped.values.reduce(0, +) == 1 && ledger.isBalanced)
    }

    @Test("E60 events tracked offline are posted once online, and none is dropped")
    func offline() async throws {
        let (client, session) = try await session()
        await client.setConnectivity(.offline)
        bench.plan(.lostBefore, on: "*", times: 10)
        for number in 1...5 { try await session.track(.custom(String(number))) }
        try await client.flush()
        #expect(try await client.ledger().pending == 5)
        bench.forgetPlans()
        bench.time.advance(by: .seconds(600))
        await client.setConnectivity(.online)
        // Without a flush: the return of the network triggers delivery.
        try await eventually("five deliveries") { try await client.ledger().delivered >= 5 }
        #expect(try await client.ledger() == Ledger(accepted: 5, delivered: 5))
    }

    @Test("E61 an event in delivery when the process ended is posted by the next one")
    func killed() async throws {
        let (client, session) = try await session()
        bench.hold("events")
        try await session.track(.custom("1"))
        let flush = Task { try await client.flush(retrying: false) }
        try await bench.isHolding()
        // Leased to a process that never settles it.
        #expect(try await client.outboxStatus().leased == 1)
        let next = try await bench.client(bench.engage())
        #expect(try await next.outboxStatus().leased == 1)
        bench.release("events")
        bench.time.advance(by: .seconds(600))
        try await next.flush()
        #expect(try await next.ledger() == Ledger(accepted: 1, delivered: 1))
        #expect(try await bench.behaviors().map { $0["Event Name"] } == ["1"])
        // The first process's request is released only now, so that its task ends.
        bench.letGo()
        _ = try await flush.value
        try await eventually("the first process's request") { try await bench.behaviors().count == 2 }
        let behaviors = try await bench.behaviors()
        #expect(behaviors.count == 2 && behaviors[0].timestamp == behaviors[1].timestamp)
        #expect(try await next.ledger() == Ledger(accepted: 1, delivered: 1))
    }

    @Test("E62 after 31 days an event is dropped and counted, after 29 it is posted", arguments: [31, 29])
    func retention(days: Int) async throws {
        let (client, session) = try await session()
        bench.plan(.lostBefore, on: "*")
        try await session.track(.custom("1"))
        try await client.flush(retrying: false)
        await client.setConnectivity(.offline)
        bench.time.advance(by: .seconds(86_400 * days))
        let next = try await bench.client(bench.engage())
        try await next.flush()
        let ledger = try await next.ledger()
        #expect(ledger.delivered == (days == 29 ? 1 : 0))
        #expect(ledger.dropped == (days == 29 ? [:] : [.expired: 1]))
        #expect(ledger.isBalanced)
    }

    @Test("E63 events tracked before there is a token are posted once there is one")
    func beforeLogin() async throws {
        let (client, session) = try await session()
        bench.plan(.status(503), on: "token")
        for number in 1...2 { try await session.track(.custom(String(number))) }
        try await client.flush(retrying: false)
        #expect(try await bench.behaviors().isEmpty)
        bench.time.advance(by: .seconds(600))
        try await client.flush()
        #expect(try await bench.behaviors().map { $0["Event Name"] } == ["1", "2"])
    }

    @Test("E64 one bad event in a batch of three doesn't affect the others", arguments: 0..<3)
    func poison(place: Int) async throws {
        await bench.settings(#"{"refusedNames":["bad"]}"#)
        let (client, session) = try await session()
        var names = ["1", "2", "3"]
        names[place] = "bad"
        await client.setConnectivity(.offline)
        for name in names { try await session.track(.custom(name)) }
        await client.setConnectivity(.online)
        for _ in 0..<6 {
            try await client.flush(retrying: false)
            bench.time.advance(by: .seconds(3600))
        }
        // The first request contained all three and was rejected as a whole.
        let first = try #require(bench.exchanges("events").first)
        #expect(first.response?.status == 400)
        #expect(names.allSatisfy { first.request.text.contains("\"\($0)\"") })
        #expect(try await bench.behaviors().map { $0["Event Name"] } == names.filter { $0 != "bad" })
        #expect(try await client.ledger() == Ledger(accepted: 3, delivered: 2, dropped: [.exhausted: 1]))
    }

    @Test(
        "these answers don't count as delivery",
        arguments: [
            (200, "<html>log in</html>", "text/html"), (302, "", "text/html"),
            (200, #"{"error":"busy"}"#, "application/json"),
            (200, #"{"success":false}"#, "application/json"), (200, #"{"events":"#, "application/json"),
            (429, "", "text/html"),
        ]
    )
    func noDelivery(status: Int, body: String, type: String) async throws {
        let (client, session) = try await session()
        bench.plan(.status(status, body: body, type: type), on: "events")
        try await session.track(.custom("1"))
        try await client.flush(retrying: false)
        #expect(try await client.ledger().pending == 1)
        bench.time.advance(by: .seconds(3600))
        try await client.flush()
        #expect(try await client.ledger().delivered == 1)
    }

    @Test("these answers count as delivery", arguments: [(200, ""), (201, "{}"), (202, #"{"error":null}"#), (204, "")])
    func delivery(status: Int, body: String) async throws {
        let (client, session) = try await session()
        bench.plan(.status(status, body: body, type: "application/json"), on: "events")
        try await session.track(.custom("1"))
        try await client.flush()
        #expect(try await client.ledger().delivered == 1)
    }

    @Test("the vendor finds no flaw in strict mode")
    func strict() async throws {
        await bench.settings(#"{"strictBehaviors":true}"#)
        for (event, _, _) in Self.kinds { _ = try await delivered(event) }
        let errors = String(decoding: await bench.control("GET", "/behaviors"), as: UTF8.self)
        #expect(errors.contains(#""flaws":[]"#))
    }

    @Test("a known recipient is named, as an attribute and as the contact")
    func recipient() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let setup = try await engage.mobileIdentity.setupRecipient()
        try await client.session(for: User(id: setup.mobileUserID)).track(.custom("x"))
        try await client.flush()
        let behavior = try #require(try await bench.behaviors().first)
        #expect(behavior["Recipient Id"] == setup.recipientID && behavior.contactID == setup.recipientID)
    }

    @Test("names of attributes can be configured")
    func names() async throws {
        let (client, session) = try await session {
            $0.attributes.eventName = "N"
            $0.attributes.currentCampaign = "C"
            $0.sendsContactID = false
        }
        try await session.track(.custom("x"))
        try await client.flush()
        let behavior = try #require(try await bench.behaviors().first)
        #expect(behavior["N"] == "x" && behavior["C"] == "" && behavior["Event Name"] == nil)
    }

    @Test(
        "events that Engage doesn't support are rejected",
        arguments: [
            TrackingEvent.screenView("s"), .purchase(Order()), .share(CatalogItem(id: "1")), .viewItem(nil),
            TrackingEvent(.native(NativeEvent(type: "other"))), .behavior(-1), .behavior(100_000),
        ]
    )
    func unsupported(event: TrackingEvent) async throws {
        let (client, session) = try await session()
        let error = await #expect(throws: ExperimentationError.self) { try await session.track(event) }
        #expect(error?.code == .unsupported)
        #expect(try await client.ledger() == Ledger())
    }

    @Test("withdrawn consent opts the recipient out, if configured", arguments: [true, false])
    func optOut(isWanted: Bool) async throws {
        let engage = bench.engage { $0.recipients.optsOutOnDenial = isWanted }
        let client = try await bench.client(engage)
        let setup = try await engage.mobileIdentity.setupRecipient()
        let session = client.session(for: User(id: setup.mobileUserID, consent: .granted))
        try await session.setConsent(.denied)
        try await client.flush()
        #expect(try await bench.recipients().map(\.optedOut) == [isWanted])
    }

    @Test("events are counted by the reference's states")
    func states() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: "u"))
        try await session.track(.custom("1"))
        try await client.flush()
        try await session.track(.custom("2"))
        let states = try await engage.eventStates(in: client)
        #expect(states.delivered == 1 && states.pending == 1 && states.completing == 0 && states.failed == 0)
    }
}
