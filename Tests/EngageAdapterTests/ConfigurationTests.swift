import AdapterKit
import Experimentation
import Foundation
import Testing

@testable import EngageAdapter

@Suite("Configuration and expirations")
struct ConfigurationTests {
    /// Number, text, seconds, expiration relative to 2014-06-10T00:00:00Z.
    static let vectors: [(String, String?, Int, String?)] = [
        ("V1", nil, 0, nil), ("V2", "", 0, "2014-06-10T00:00:00Z"), ("V3", "1 day 15m", 87300, "2014-06-11T00:15:00Z"),
        ("V4", "15m1d0seconds", 87300, "2014-06-11T00:15:00Z"), ("V5", "65minutes", 3900, "2014-06-10T01:05:00Z"),
        ("V6", "3seconds", 3, "2014-06-10T00:00:03Z"), ("V7", "1 day", 86400, "2014-06-11T00:00:00Z"),
        ("V8", "1day", 86400, "2014-06-11T00:00:00Z"), ("V9", "1d", 86400, "2014-06-11T00:00:00Z"),
        ("V10", "9h", 32400, "2014-06-10T09:00:00Z"), ("V11", "1 hr", 3600, "2014-06-10T01:00:00Z"),
        ("V12", "15 sec", 15, "2014-06-10T00:00:15Z"), ("V13", "15 seconds", 15, "2014-06-10T00:00:15Z"),
        ("V14", "5 minutes", 300, "2014-06-10T00:05:00Z"), ("V15", "30 minutes", 1800, "2014-06-10T00:30:00Z"),
        ("V16", "1 day 7 hours 23 minutes 15 seconds", 112_995, "2014-06-11T07:23:15Z"),
        ("V17", "1day7hours23minutes15seconds", 112_995, "2014-06-11T07:23:15Z"),
        ("V18", "1d 7h 23m 15s", 112_995, "2014-06-11T07:23:15Z"),
        ("V19", "1D 2H 3M 4S", 93784, "2014-06-11T02:03:04Z"),
        ("V20", "2014/12/25 11:12:13", 0, "2014-12-25T11:12:13Z"),
        ("V21", "ends 2014/12/25 11:12:13 UTC", 0, "2014-12-25T11:12:13Z"),
        ("V22", "2014/12/25 11:12:13Z", 0, "2014-12-25T11:12:13Z"), ("V23", "2014/12/25", 0, "2014-06-10T00:00:00Z"),
        ("V24", "2014-12-25 11:12:13", 0, "2014-06-10T00:00:00Z"),
        ("V25", "2014/12/25T11:12:13", 0, "2014-06-10T00:00:00Z"),
        ("V26", "2014/12/25 11:12:13 MST", 780, "2014-06-10T00:13:00Z"),
        ("V27", "21341qaskljdf;lawjer", 0, "2014-06-10T00:00:00Z"), ("V28", "1 month", 60, "2014-06-10T00:01:00Z"),
        ("V29", "2 weeks", 0, "2014-06-10T00:00:00Z"), ("V30", "1 week 2 days", 172_800, "2014-06-12T00:00:00Z"),
        ("V31", "1d 3d", 259_200, "2014-06-13T00:00:00Z"), ("V32", "1.5 hours", 18000, "2014-06-10T05:00:00Z"),
        ("V33", "-5m", 300, "2014-06-10T00:05:00Z"), ("V34", "500ms", 30000, "2014-06-10T08:20:00Z"),
        ("V35", "90", 0, "2014-06-10T00:00:00Z"), ("V36", "10 |", 0, "2014-06-10T00:00:00Z"),
        ("V37", "P1DT2H", 93600, "2014-06-11T02:00:00Z"), ("V38", "1   \t day", 86400, "2014-06-11T00:00:00Z"),
        ("V39", "1\nday", 86400, "2014-06-11T00:00:00Z"), ("V40", "0d", 0, "2014-06-10T00:00:00Z"),
        ("V41", "0 seconds", 0, "2014-06-10T00:00:00Z"), ("V42", "12 Dec 2014", 1_036_800, "2014-06-22T00:00:00Z"),
        ("V43", "2014/01/01 00:00:00 2014/02/01 00:00:00", 0, "2014-02-01T00:00:00Z"),
        ("V44", "day 1", 0, "2014-06-10T00:00:00Z"),
    ]

    @Test("every example of the expiration's grammar is read as given", arguments: vectors)
    func expiration(number: String, text: String?, seconds: Int, date: String?) throws {
        let reference = Date(timeIntervalSince1970: 1_402_358_400)
        let expiration = Expiration(text)
        #expect(expiration.seconds == seconds)
        #expect(expiration.milliseconds == seconds * 1000)
        let expected = try date.map { try Date.ISO8601FormatStyle().parse($0) }
        #expect(expiration.date(from: reference) == expected)
        #expect(expiration.timestamp(from: reference) == expected.map { Int($0.timeIntervalSince1970) } ?? 0)
    }

    @Test(
        "notations that the grammar doesn't fully cover are marked as imprecise",
        arguments: [
            ("1 day 15m", true), ("5 minutes", true), ("2014/12/25 11:12:13", true), ("1 month", false),
            ("500ms", false),
            ("1d 3d", false), ("1.5 hours", false), ("2014/12/25 11:12:13 MST", false), ("soon", false), ("-5m", false),
        ]
    )
    func precise(text: String, isPrecise: Bool) { #expect(Expiration(text).isPrecise == isPrecise) }

    @Test(
        "an excessive duration or date doesn't overflow",
        arguments: ["99999999999999999999999999d", "9999999999d 9999999999h", "2014/99/99 99:99:99"]
    )
    func overflow(text: String) {
        #expect(Expiration(text).date(from: Date(timeIntervalSince1970: 0)) != nil)
        #expect(Expiration(text).seconds >= 0)
    }

    private func list(_ inner: String) -> [UInt8] {
        Array(
            ("<?xml version=\"1.0\" encoding=\"UTF-8\"?><!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
                + "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\"><plist version=\"1.0\"><dict>\(inner)</dict></plist>")
                .utf8
        )
    }

    private func group(_ name: String, _ inner: String) -> [UInt8] { list("<key>\(name)</key><dict>\(inner)</dict>") }

    @Test("E81 a file with one key changes only that key")
    func deepMerge() throws {
        var configuration = EngageWorkbench.configuration()
        let unknown = try configuration.merge(
            propertyList: group("General", "<key>ubfEventCacheSize</key><integer>7</integer><key>odd</key><true/>"),
            file: "EngageConfig.plist"
        )
        #expect(configuration.batchSize == 7)
        #expect(unknown == ["General.odd"])
        let standard = EngageWorkbench.configuration()
        #expect(configuration.campaignLifetime == standard.campaignLifetime)
        #expect(configuration.parameters == standard.parameters && configuration.attributes == standard.attributes)
        #expect(configuration.location == standard.location && configuration.listID == "23949")
    }

    @Test(
        "E82 a number may be a string",
        arguments: ["<string>10</string>", "<integer>10</integer>", "<real>10</real>"]
    )
    func number(value: String) throws {
        var configuration = EngageWorkbench.configuration()
        configuration.location.distanceFilter = 1
        try configuration.merge(
            propertyList: group("LocationServices", "<key>locationDistanceFilter</key>\(value)"),
            file: "EngageConfig.plist"
        )
        #expect(configuration.location.distanceFilter == 10)
    }

    @Test("E83 a duration is read by its grammar")
    func length() throws {
        var configuration = EngageWorkbench.configuration()
        try configuration.merge(
            propertyList: group("Session", "<key>sessionLifecycleExpiration</key><string>30 minutes</string>"),
            file: "EngageConfig.plist"
        )
        #expect(configuration.sessionTimeout == .seconds(1800))
    }

    @Test("every key of the reference is known and takes effect")
    func everyKey() throws {
        func text(_ key: String, _ value: String) -> String { "<key>\(key)</key><string>\(value)</string>" }
        func group(_ name: String, _ inner: String...) -> String { "<key>\(name)</key><dict>\(inner.joined())</dict>" }
        let fields = [
            "SessionDuration", "Tags", "DisplayedMessage", "CallToAction", "EventName", "GoalName", "CurrentCampaign",
            "LastCampaign", "LocationAddress", "LocationName", "Latitude", "Longitude",
        ]
        let named = fields.map { text("UBF\($0)FieldName", "f-\($0)") }.joined()
        let fieldNames = "<key>UBFFieldNames</key><dict>\(named)</dict>"
        let parts: [String] = [
            group(
                "General",
                text("databaseListId", "5"),
                text("ubfEventCacheSize", "4"),
                text("defaultCurrentCampaignExpiration", "2 days")
            ),
            group(
                "ParamFieldNames",
                text("ParamCampaignValidFor", "p1"),
                text("ParamCampaignExpiresAt", "p2"),
                text("ParamCurrentCampaign", "p3"),
                text("ParamCallToAction", "p4"),
                text("ParamCampaignEndTimeStamp", "p5")
            ),
            group("Session", text("sessionLifecycleExpiration", "1 hr")),
            group("Networking", text("maxNumRetries", "9")),
            group("LocalEventStore", text("expireLocalEventsAfterNumDays", "8")), fieldNames,
            group(
                "LocationServices",
                text("enabled", "NO"),
                text("lastKnownLocationDateFormat", "yyyy"),
                text("lastKnownLocationTimestampColumn", "l1"),
                text("lastKnownLocationColumn", "l2"),
                text("locationDistanceFilter", "3.5"),
                text("locationPrecisionLevel", "KCLLocationAccuracyKilometer"),
                text("locationCacheLifespan", "2 hr"),
                text("coordinatesPlacemarkTimeout", "3 sec"),
                text("coordinatesAcquisitionTimeout", "4 sec")
            ),
            group(
                "Augmentation",
                text("augmentationTimeout", "5 sec"),
                "<key>augmentationPluginClasses</key><array><string>UBFPlacemarkAugmentationPlugin</string></array>"
            ),
            group(
                "Recipient",
                text("enableAutoAnonymousTracking", "NO"),
                text("mobileUserIdGeneratorClassName", "Mine"),
                text("mobileUserIdColumn", "r1"),
                text("mergedRecipientIdColumn", "r2"),
                text("mergedDateColumn", "r3"),
                text("mergeHistoryInMarketingDatabase", "NO")
            ),
            group(
                "AuditRecord",
                text("auditRecordPrimaryKeyColumnName", "a1"),
                text("auditRecordPrimaryKeyGeneratorClassName", "EngageDefaultUUIDGenerator"),
                text("oldRecipientIdColumnName", "a2"),
                text("newRecipientIdColumnName", "a3"),
                text("createDateColumnName", "a4"),
                "<key>mergeHistoryInAuditRecordTable</key><true/>",
                text("auditRecordListId", "6")
            ),
        ]
        let file = list(parts.joined())
        var configuration = EngageWorkbench.configuration()
        configuration.listID = ""
        let unknown = try configuration.merge(
            propertyList: file,
            file: "EngageConfig.plist",
            registry: EngageRegistry(generators: ["Mine": { "made" }], places: LocationFeed())
        )
        #expect(unknown.isEmpty)
        #expect(configuration.listID == "5" && configuration.batchSize == 4 && configuration.retentionDays == 8)
        #expect(configuration.campaignLifetime == .seconds(172_800) && configuration.sessionTimeout == .seconds(3600))
        #expect(configuration.networking.attempts == 9)
        let p = configuration.parameters
        #expect(
            [p.campaignValidFor, p.campaignExpiresAt, p.currentCampaign, p.callToAction, p.campaignEnd] == [
                "p1", "p2", "p3", "p4", "p5",
            ]
        )
        let a = configuration.attributes
        let chosen = [
            a.sessionDuration, a.tags, a.displayedMessage, a.callToAction, a.eventName, a.goalName, a.currentCampaign,
            a.lastCampaign, a.locationAddress, a.locationName, a.latitude, a.longitude,
        ]
        #expect(chosen == fields.map { "f-\($0)" })
        let l = configuration.location
        #expect(!l.isEnabled && l.dateFormat == "yyyy" && l.timestampColumn == "l1" && l.addressColumn == "l2")
        #expect(l.distanceFilter == 3.5 && l.precision == .kilometer && l.cacheLifespan == .seconds(7200))
        #expect(l.placemarkTimeout == .seconds(3) && l.acquisitionTimeout == .seconds(4))
        #expect(configuration.augmentation.timeout == .seconds(5) && configuration.augmentation.plugins.count == 1)
        let r = configuration.recipients
        #expect(!r.autoAnonymous && r.makeID?() == "made" && r.mobileUserIDColumn == "r1" && !r.historyInList)
        #expect(r.mergedRecipientIDColumn == "r2" && r.mergedDateColumn == "r3")
        #expect(r.audit?.tableID == "6" && r.audit?.keyColumn == "a1" && r.audit?.oldRecipientColumn == "a2")
        #expect(r.audit?.newRecipientColumn == "a3" && r.audit?.dateColumn == "a4")
    }

    @Test(
        "an invalid list is rejected with file and key, and changes nothing",
        arguments: [
            ("", ""), ("General", "<key>ubfEventCacheSize</key><string>many</string>"),
            ("General", "<key>ubfEventCacheSize</key><integer>0</integer>"),
            ("LocalEventStore", "<key>expireLocalEventsAfterNumDays</key><integer>0</integer>"),
            ("LocalEventStore", "<key>expireLocalEventsAfterNumDays</key><integer>1000000000000000</integer>"),
            ("Session", "<key>sessionLifecycleExpiration</key><string>soon</string>"),
            ("Session", "<key>sessionLifecycleExpiration</key><array/>"),
            ("LocationServices", "<key>enabled</key><string>perhaps</string>"),
            ("Recipient", "<key>mobileUserIdGeneratorClassName</key><string>Nobody</string>"),
            ("Augmentation", "<key>augmentationPluginClasses</key><array><string>Nobody</string></array>"),
            ("AuditRecord", "<key>mergeHistoryInAuditRecordTable</key><true/>"),
        ]
    )
    func refused(name: String, inner: String) {
        var configuration = EngageWorkbench.configuration()
        let bytes = name.isEmpty ? Array("<plist".utf8) : group(name, inner)
        let error = #expect(throws: ExperimentationError.self) {
            try configuration.merge(propertyList: bytes, file: "EngageConfig.plist")
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.hasPrefix("EngageConfig.plist: ") == true)
        #expect(configuration.batchSize == 3 && configuration.recipients.audit == nil)
    }

    /// Builds a binary property list; its parts refer to one another by index.
    private func binary(_ parts: [[UInt8]]) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var places: [UInt8] = []
        for part in parts {
            places += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
            bytes += part
        }
        func eight(_ number: Int) -> [UInt8] { [0, 0, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 0xFF)] }
        return bytes + places + [0, 0, 0, 0, 0, 0, 2, 1] + eight(parts.count) + eight(0) + eight(bytes.count)
    }

    @Test(
        "a cyclic or very deep list is rejected or read only where needed, quickly",
        arguments: ["circle", "doubling", "wide", "deep", "deep in UTF-16", "deep text"]
    )
    func bottomless(kind: String) async {
        let array: (Int) -> String = {
            String(repeating: "<array>", count: $0) + String(repeating: "</array>", count: $0)
        }
        let key: [UInt8] = [0x51, 0x47]
        let bytes: [UInt8] =
            switch kind {
            // A list that contains itself; forty lists that each contain the next one twice.
            case "circle": binary([[0xD1, 1, 2], key, [0xA1, 2]])
            case "doubling":
                binary([[0xD1, 1, 2], key] + (0..<40).map { [0xA2, $0 + 3, $0 + 3] } + [[0x51, 0x61]])
            // Two hundred identical groups of two hundred identical settings of two hundred strings.
            case "wide":
                binary(
                    [[0xDF, 0x10, 200] + (3..<203) + Array(repeating: 1, count: 200)]
                        + [[0xDF, 0x10, 200] + (3..<203) + Array(repeating: 2, count: 200)]
                        + [[0xAF, 0x10, 200] + Array(repeating: 3, count: 200)]
                        + (0..<200).map { [0x52, 0x41 + $0 / 26, 0x61 + $0 % 26] }
                )
            case "deep": list("<key>G</key>" + array(20_000))
            case "deep in UTF-16":
                [0xFF, 0xFE]
                    + String(decoding: list("<key>G</key>" + array(20_000)), as: UTF8.self)
                    .replacing("UTF-8", with: "UTF-16").utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            default:
                Array("{ G = ".utf8) + Array(repeating: UInt8(ascii: "("), count: 20_000)
                    + Array(repeating: UInt8(ascii: ")"), count: 20_000) + Array("; }".utf8)
            }
        let isOver = await withCheckedContinuation { continuation in
            let thread = Thread {
                var configuration = EngageWorkbench.configuration()
                let start = ContinuousClock.now
                let unread = try? configuration.merge(propertyList: bytes, file: "p")
                // Malformed groups and unknown settings are reported.
                let isRead = ["circle", "doubling"].contains(kind)
                continuation.resume(returning: (unread == (isRead ? ["G"] : nil), ContinuousClock.now - start))
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
        #expect(isOver.0)
        #expect(isOver.1 < .seconds(5))
    }

    @Test("a configuration file is read, and its errors are named")
    func settings() throws {
        func read(_ json: String) throws -> EngageConfiguration {
            var reader = try SettingsReader(json: Array(json.utf8), file: "c.json", environment: ["S": "secret"])
            _ = try reader.optionalString("vendor")
            let configuration = try EngageConfiguration(reading: &reader)
            try reader.finish()
            return configuration
        }
        let good = #""clientID":"c","clientSecret":{"env":"S"},"refreshToken":"r","listID":"1""#
        let configuration = try read(
            #"{"vendor":"engage","endpoints":{"host":"http://127.0.0.1:1/"},\#(good),"batchSize":5,"#
                + #""recipients":{"audit":{"tableID":"9"}},"networking":{"timeout":1.5},"device":{"appName":"A"}}"#
        )
        #expect(configuration.credentials.clientSecret.reveal() == "secret" && configuration.batchSize == 5)
        #expect(configuration.recipients.audit?.tableID == "9" && configuration.networking.timeout == .seconds(1.5))
        #expect(configuration.device.appName == "A" && configuration.recipients.autoAnonymous)
        let places = try read(
            #"{"host":"https://e.test/",\#(good),"location":{"enabled":false,"dateFormat":"MM-dd-yyyy","#
                + #""timestampColumn":"T","addressColumn":"A","distanceFilter":2.5,"#
                + #""precision":"kCLLocationAccuracyKilometer","cacheLifespan":60,"placemarkTimeout":2,"#
                + #""acquisitionTimeout":3},"augmentation":{"timeout":4,"plugins":["UBFPlacemarkAugmentationPlugin"]}}"#
        )
        var location = EngageConfiguration.Location()
        (location.isEnabled, location.dateFormat, location.timestampColumn) = (false, "MM-dd-yyyy", "T")
        (location.addressColumn, location.distanceFilter, location.precision) = ("A", 2.5, .kilometer)
        location.cacheLifespan = .seconds(60)
        location.placemarkTimeout = .seconds(2)
        location.acquisitionTimeout = .seconds(3)
        #expect(places.location == location && places.augmentation.timeout == .seconds(4))
        #expect(places.augmentation.plugins.isEmpty, "a plug-in for places without a feed is left out")
        #expect(configuration.location == .init() && configuration.augmentation.timeout == .seconds(15))
        for bad in [
            #"{"host":"https://e.test/",\#(good),"location":{"precision":"good"}}"#,
            #"{"host":"https://e.test/",\#(good),"augmentation":{"plugins":["Nobody"]}}"#,
            "{\(good)}", #"{"host":"http://example.test/",\#(good)}"#,
            #"{"host":"https://e.test/",\#(good),"batchSize":0}"#,
            #"{"host":"https://e.test/",\#(good),"networking":{"timeout":0}}"#,
            #"{"host":"https://e.test/",\#(good),"networking":{"firstBackoff":0}}"#,
            #"{"host":"https://e.test/",\#(good),"networking":{"longestBackoff":0}}"#,
            #"{"host":"https://e.test/",\#(good),"odd":1}"#, #"{"host":"https://e.test/","clientID":"c"}"#,
            #"{"host":"https://e.test/",\#(good),"recipients":{"audit":{}}}"#,
        ] {
            let error = #expect(throws: ExperimentationError.self) { _ = try read(bad) }
            #expect(error?.code == .configuration && error?.message.contains("c.json") == true)
        }
    }

    @Test(
        "an invalid host is rejected when the configuration is created",
        arguments: ["", "ftp://x", "http://example.test/"]
    )
    func host(host: String) {
        let credentials = EngageWorkbench.configuration().credentials
        let error = #expect(throws: ExperimentationError.self) {
            try EngageConfiguration(host: host, credentials: credentials, listID: "1")
        }
        #expect(error?.code == .configuration)
    }

    @Test("an invalid setting keeps the provider from starting")
    func start() async {
        let provider = EngageProvider(configuration: EngageWorkbench.configuration { $0.batchSize = 0 })
        let error = await #expect(throws: ExperimentationError.self) { try await provider.start(in: ProviderContext()) }
        #expect(error?.code == .configuration)
    }

    private static let negatives: [(name: String, change: @Sendable (inout EngageConfiguration) -> Void)] = [
        ("batchInterval", { $0.batchInterval = .seconds(-1) }),
        ("networking.patience", { $0.networking.patience = .seconds(-1) }),
        ("networking.responseBytes", { $0.networking.responseBytes = 0 }),
        ("location.cacheLifespan", { $0.location.cacheLifespan = .seconds(-1) }),
        ("location.placemarkTimeout", { $0.location.placemarkTimeout = .seconds(-1) }),
        ("location.acquisitionTimeout", { $0.location.acquisitionTimeout = .seconds(-1) }),
        ("location.distanceFilter", { $0.location.distanceFilter = .nan }),
    ]

    @Test("a setting out of its range is an error that names it", arguments: negatives)
    func range(name: String, change: @Sendable (inout EngageConfiguration) -> Void) {
        let error = #expect(throws: ExperimentationError.self) {
            try EngageWorkbench.configuration(change).validate()
        }
        #expect(error?.code == .configuration && error?.message.hasPrefix(name + " must ") == true)
    }

    @Test("printing shows no secrets")
    func secrets() {
        let text =
            String(describing: EngageWorkbench.configuration()) + String(reflecting: EngageWorkbench.configuration())
        #expect(!text.contains("\"secret\"") && !text.contains("\"refresh\""))
    }
}
