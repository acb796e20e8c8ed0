import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EngageAdapter

/// Configured names and figures, tested by their effect.
@Suite("Configured names and figures take effect")
struct ConfiguredNameTests {
    let bench = EngageWorkbench()

    /// A campaign that lasts one minute from 2015-02-03 21:46:40, in its three notations.
    static let minutes: [[String: FlagValue]] = [
        ["V": "1m"], ["X": "2015/02/03 21:47:40"], ["E": "1423000060"],
    ]

    @Test("incoming parameters are found only under the configured names", arguments: minutes)
    func parameters(end: [String: FlagValue]) async throws {
        let engage = bench.engage {
            $0.parameters.currentCampaign = "P"
            $0.parameters.campaignValidFor = "V"
            $0.parameters.campaignExpiresAt = "X"
            $0.parameters.campaignEnd = "E"
            $0.parameters.callToAction = "A"
        }
        let client = try await bench.client(engage)
        let tracker = engage.tracker(for: client.session(for: User(id: "u")))
        try await tracker.handlePushReceived(["CurrentCampaign": "Winter", "CallToAction": "Sell"])
        #expect(tracker.currentCampaign == "")
        try await tracker.handlePushReceived(["P": "Spring", "A": "Buy"].merging(end) { $1 })
        bench.time.advance(by: .seconds(60))
        #expect(tracker.currentCampaign == "Spring")
        bench.time.advance(by: .seconds(1))
        #expect(tracker.currentCampaign == "" && tracker.lastCampaign == "Spring")
        try await client.flush()
        #expect(try await bench.behaviors().map { $0["Call To Action"] } == [nil, "Buy"])
    }

    @Test("every outgoing attribute has its configured name")
    func attributes() async throws {
        var names = EngageConfiguration.AttributeNames()
        names.sessionDuration = "f-duration"
        names.tags = "f-tags"
        names.displayedMessage = "f-message"
        names.callToAction = "f-action"
        names.eventName = "f-event"
        names.goalName = "f-goal"
        names.currentCampaign = "f-campaign"
        names.lastCampaign = "f-last"
        names.locationAddress = "f-address"
        names.locationName = "f-place"
        names.latitude = "f-latitude"
        names.longitude = "f-longitude"
        let feed = LocationFeed()
        feed.update(.init(latitude: 48, longitude: 16, date: bench.time.now))
        feed.update(LocationFeed.Placemark(name: "Dom", city: "Wien", date: bench.time.now))
        let client = try await bench.client(
            bench.engage { [names] in
                $0.attributes = names
                $0.augmentation.plugins = feed.plugins(names: names)
            }
        )
        let session = client.session(for: User(id: "u"))
        let events: [TrackingEvent] = [
            .installed, .sessionEnded(seconds: 5), .goalCompleted("G"),
            .custom("N", attributes: ["f-tags": ["a", "b"]]),
            .notificationReceived(NotificationContent(message: "Hi", callToAction: "Open")),
        ]
        for event in events { try await session.track(event) }
        try await client.flush()
        let places = ["f-latitude": "48", "f-longitude": "16", "f-address": "Wien", "f-place": "Dom"]
        let own = try await bench.behaviors().map { behavior in
            Dictionary(uniqueKeysWithValues: behavior.attributes.map { ($0.name, $0.value) })
                .filter { $0.key.hasPrefix("f-") && places[$0.key] != $0.value }
        }
        #expect(
            own == [
                ["f-last": ""], ["f-campaign": "", "f-duration": "5"], ["f-campaign": "", "f-goal": "G"],
                ["f-campaign": "", "f-event": "N", "f-tags": "a,b"],
                ["f-campaign": "", "f-message": "Hi", "f-action": "Open"],
            ]
        )
        for behavior in try await bench.behaviors() {
            for (name, value) in places { #expect(behavior[name] == value) }
        }
    }

    @Test("ids and history are written to the configured columns")
    func columns() async throws {
        let engage = bench.engage {
            $0.recipients.mobileUserIDColumn = "r1"
            $0.recipients.mergedRecipientIDColumn = "r2"
            $0.recipients.mergedDateColumn = "r3"
            var audit = EngageConfiguration.AuditTable(tableID: "29392")
            audit.keyColumn = "a1"
            audit.oldRecipientColumn = "a2"
            audit.newRecipientColumn = "a3"
            audit.dateColumn = "a4"
            audit.makeKey = { "own key" }
            $0.recipients.audit = audit
        }
        try await engage.begin()
        for name in ["r1", "r2", "r3"] {
            try await engage.xmlapi.perform(.addColumn(name, list: "23949", type: .text))
        }
        let current = try await engage.mobileIdentity.setupRecipient()
        let existing = try await bench.addRecipient(["facebook_id": "100"])
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        let moment = "02/03/2015 21:46:40 GMT"
        #expect(try await bench.recipient(existing) == ["facebook_id": "100", "r1": current.mobileUserID])
        #expect(try await bench.recipient(current.recipientID) == ["r1": "", "r2": existing, "r3": moment])
        func column(_ name: String, _ value: String) -> String {
            "<COLUMN name=\"\(name)\"><![CDATA[\(value)]]></COLUMN>"
        }
        let row = column("a1", "own key") + column("a2", current.recipientID) + column("a3", existing)
        #expect(
            bench.exchanges("InsertUpdateRelationalTable").first?.envelope.contains(
                "<ROW>" + row + column("a4", moment) + "</ROW>"
            ) == true
        )
    }

    @Test("batches, attempts and days of retention are as configured")
    func figures() throws {
        let engage = bench.engage {
            $0.batchSize = 7
            $0.networking.attempts = 9
            $0.retentionDays = 2
        }
        let batching = engage.events.batching
        #expect(batching.count == 7 && batching.attempts == 9 && batching.maximumAge == .seconds(172_800))
    }

    @Test("a session ends after its configured length", arguments: [(59, 0), (61, 1)])
    func sessionTimeout(away: Int, ends: Int) async throws {
        let engage = bench.engage { $0.sessionTimeout = .seconds(60) }
        let client = try await bench.client(engage)
        let tracker = engage.tracker(for: client.session(for: User(id: "u")))
        try await tracker.launch()
        try await tracker.setApplicationState(.background)
        bench.time.advance(by: .seconds(away))
        try await tracker.setApplicationState(.foreground)
        try await client.flush()
        #expect(try await bench.behaviors().filter { $0.code == "14" }.count == ends)
    }

    @Test("a campaign without an end lasts as long as configured")
    func campaignLifetime() async throws {
        let engage = bench.engage { $0.campaignLifetime = .seconds(120) }
        let client = try await bench.client(engage)
        let tracker = engage.tracker(for: client.session(for: User(id: "u")))
        try await tracker.storeCampaign("Spring")
        bench.time.advance(by: .seconds(120))
        #expect(tracker.currentCampaign == "Spring")
        bench.time.advance(by: .seconds(1))
        #expect(tracker.currentCampaign == "")
    }
}
