import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EngageAdapter

@Suite("Records of the vendor's own SDK are taken over")
struct UpgradeTests {
    let bench = EngageWorkbench()

    private static let records = EngageSDKRecords(
        mobileUserID: "M",
        recipientID: "100000",
        anonymousID: "9",
        deviceID: "OLD-DEVICE",
        campaign: "Spring",
        isInstalled: true
    )

    /// Provides user defaults with the SDK's keys for one test.
    private func withDefaults(_ values: [String: Any], _ body: (UserDefaults) throws -> Void) throws {
        let suite = "engage-\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        for (name, value) in values { defaults.set(value, forKey: name) }
        try body(defaults)
    }

    @Test("its records are read from the user defaults; without them there are none")
    func entries() throws {
        try withDefaults([
            "engagePrimaryUserId": "M", "recipientId": "100000", "engageAnonymousId": "9", "deviceId": "OLD-DEVICE",
            "engageCurrentCampaign": "Spring", "engageClientInstalled": "YES",
        ]) { #expect(EngageSDKRecords(in: $0) == Self.records) }
        try withDefaults(["recipientId": 100000]) { #expect(EngageSDKRecords(in: $0).recipientID == "100000") }
        try withDefaults(["engageClientInstalled": "NO"]) { #expect(EngageSDKRecords(in: $0) == EngageSDKRecords()) }
    }

    @Test("no user becomes another recipient, is counted as a new install or loses the campaign")
    func noOther() async throws {
        let engage = bench.engage { $0.device.id = nil }
        let client = try await bench.client(engage)
        let recipient = try await bench.addRecipient(["Mobile User Id": "M"])
        bench.forgetExchanges()
        #expect(try await engage.takeOver(Self.records))
        let id = try await engage.mobileIdentity.prepareRecipient()
        #expect([id, engage.profile.recipientID, engage.profile.anonymousID] == ["M", recipient, "9"])
        let tracker = engage.tracker(for: client.session(for: User(id: id)))
        #expect(tracker.currentCampaign == "Spring")
        try await tracker.launch()
        try await client.flush()
        let behaviors = try await bench.behaviors()
        #expect(behaviors.map(\.code) == ["13"])
        #expect(behaviors.map { [$0["Recipient Id"], $0["Device Id"]] } == [[recipient, "OLD-DEVICE"]])
        #expect(bench.operations == ["token", "events"])
        bench.time.advance(by: .seconds(86_401))
        #expect(tracker.currentCampaign == "" && tracker.lastCampaign == "Spring")
    }

    @Test("a recipient that the SDK added without noticing is found")
    func lostAnswer() async throws {
        let engage = bench.engage()
        try await engage.begin()
        let recipient = try await bench.addRecipient(["Mobile User Id": "M"])
        try await engage.takeOver(EngageSDKRecords(mobileUserID: "M"))
        let result = try await engage.mobileIdentity.setupRecipient()
        #expect(result == .init(recipientID: recipient, mobileUserID: "M"))
        #expect(bench.operations == ["token", "SelectRecipientData"])
        #expect(try await bench.recipients().map { String($0.id) } == [recipient])
    }

    @Test(
        "records are taken over only once: forgotten state doesn't return, and known state stays",
        arguments: [true, false]
    )
    func once(byDenial: Bool) async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        #expect(try await engage.takeOver(Self.records))
        if byDenial {
            try await client.session(for: User(id: "M")).setConsent(.denied)
        } else {
            try await engage.profile.clear()
        }
        #expect(try await engage.takeOver(Self.records) == false)
        #expect(engage.profile.mobileUserID == "" && engage.profile.recipientID == "")
        let next = bench.engage()
        _ = try await bench.client(next)
        #expect(try await next.takeOver(Self.records) == false)
        #expect(next.profile.mobileUserID == "")
    }

    @Test("ids stored by the application stay, both of them")
    func stored() async throws {
        let engage = bench.engage()
        try await engage.profile.storeMobileUserID("own")
        #expect(try await engage.takeOver(Self.records))
        #expect(engage.profile.mobileUserID == "own" && engage.profile.recipientID == "")
        #expect(engage.profile.anonymousID == "9")
    }

    private static func row(_ status: Int, _ json: String, at date: Double = 444_679_445) -> [String: FlagValue] {
        [
            "Z_PK": 1, "ZEVENTSTATUS": .int(status), "ZEVENTTYPE": 17, "ZEVENTJSON": .string(json),
            "ZEVENTDATE": .double(date),
        ]
    }

    private static let json =
        #"{"eventTypeCode":"17","attributes":[{"name":"Event Name","value":"old"},{"name":"Recipient Id","value":""},{"name":"n","value":3},{"name":"","value":"x"}]}"#

    @Test("events that the SDK hadn't sent are read, whatever key holds their time", arguments: [1, 2, 3, 4, 5, 6, 7])
    func rows(status: Int) throws {
        let event = EngageSDKEvent(Self.row(status, Self.json))
        #expect((event != nil) == [1, 4, 5, 6].contains(status))
        guard let event else { return }
        #expect(event.type == .namedEvent && event.attributes == ["Event Name": "old", "n": "3"])
        #expect(event.date == Date(timeIntervalSinceReferenceDate: 444_679_445))
        for name in ["eventTimeStamp", "eventTimestamp"] {
            let timed = Self.json.replacing("{\"eventType", with: #"{"\#(name)":"2015-02-03T18:04:05.678Z","eventType"#)
            let date = try #require(EngageSDKEvent(Self.row(1, timed))).date
            #expect(EngageTimestamp.behavior(date) == "2015-02-03T18:04:05.678Z")
        }
        for bad in [
            "", "[]", "{}", #"{"eventTypeCode":"x"}"#, #"{"eventTypeCode":-1}"#, #"{"eventTypeCode":"100000"}"#,
        ] { #expect(EngageSDKEvent(Self.row(1, bad)) == nil) }
    }

    @Test("an event that can't be sent keeps no other from being taken over")
    func unsendable() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let now = bench.time.now.timeIntervalSinceReferenceDate
        let good = try #require(EngageSDKEvent(Self.row(1, Self.json, at: now - 50)))
        var bad = try #require(EngageSDKEvent(Self.row(1, Self.json, at: now - 100)))
        bad.type = 100_000
        try await engage.takeOver([bad, good], in: client.session(for: User(id: "M")))
        try await client.flush()
        #expect(try await bench.behaviors().map { [$0.code, $0["Event Name"]] } == [["17", "old"]])
    }

    @Test("if all events are refused because of their user, the refusal is thrown, so that the file is kept")
    func unfitUser() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let events = try [50.0, 100].map { age in
            let date = bench.time.now.timeIntervalSinceReferenceDate - age
            return try #require(EngageSDKEvent(Self.row(1, Self.json, at: date)))
        }
        // Carried by the user's first event.
        let about = String(repeating: "x", count: 40_000)
        let session = client.session(for: User(id: "M", attributes: ["about": .string(about)]))
        let error = await #expect(throws: ExperimentationError.self) { try await engage.takeOver(events, in: session) }
        #expect(error?.code == .tooLarge)
        #expect(try await client.ledger() == Ledger())
    }

    @Test("they are posted with their times and kinds, and with the current recipient")
    func posted() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let recipient = try await bench.addRecipient(["Mobile User Id": "M"])
        try await engage.takeOver(Self.records)
        let session = client.session(for: User(id: "M"))
        let second = Self.json.replacing("old", with: "later").replacing("\"17\"", with: "99")
        let now = bench.time.now.timeIntervalSinceReferenceDate
        let rows = [Self.row(1, second, at: now - 50), Self.row(4, Self.json, at: now - 100)]
        try await engage.takeOver(rows.compactMap(EngageSDKEvent.init), in: session)
        try await client.flush()
        let behaviors = try await bench.behaviors()
        #expect(
            behaviors.map { [$0.code, $0["Event Name"], $0["Recipient Id"]] } == [
                ["17", "old", recipient], ["99", "later", recipient],
            ]
        )
        #expect(
            behaviors.map(\.timestamp)
                == [100.0, 50].map { EngageTimestamp.behavior(bench.time.now.addingTimeInterval(-$0)) }
        )
    }
}
