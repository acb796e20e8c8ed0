import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing
import Waiting

@testable import FlagshipAdapter

@Suite("Flagship: reports to its developers")
struct ReportTests {
    /// The usual file for an account with troubleshooting enabled from an hour ago, for a day.
    static func file(traffic: Int = 100, now: Date = ManualTime().now) -> String {
        func text(_ offset: Double) -> String { now.addingTimeInterval(offset).formatted(.iso8601) }
        let block =
            #"{"startDate":"\#(text(-3_600))","endDate":"\#(text(86_400))","timezone":"Europe/Paris","traffic":\#(traffic)}"#
        return Bench.file.replacing(#""troubleshooting":null"#, with: #""troubleshooting":\#(block)"#)
    }

    static func received(_ bench: Bench) async -> [[String: FlagValue]] {
        await bench.mock.receivedReports.compactMap { try? JSON.parse($0).objectValue }
    }

    static func labels(_ bench: Bench) async -> [String] {
        await received(bench).compactMap { $0["cv"]?.objectValue?["label"]?.stringValue }
    }

    /// A visitor whose usage is sampled on the day of the tests, and one who isn't.
    static func sample() throws -> (wanted: String, other: String) {
        let ids = (0..<10_000).map { "visitor-\($0)" }
        func isWanted(_ id: String) -> Bool {
            FlagshipReports.wantsUsage(of: id, at: ManualTime().now, in: .current)
        }
        return (try #require(ids.first(where: isWanted)), try #require(ids.first { !isWanted($0) }))
    }

    /// Causes every kind of report.
    static func live(_ bench: Bench, _ flagship: Flagship, consent: Bool = true, _ id: String = "ada") async throws {
        let visitor = await flagship.newVisitor(id, hasConsented: consent).context(["city": "lyon"]).build()
        await visitor.fetchFlags()
        visitor.flag("size").visitorExposed()
        _ = visitor.flag("nobody").value(default: 5)
        visitor.flag("nobody").visitorExposed()
        _ = visitor.flag("cta").value(default: "none")
        visitor.flag("cta").visitorExposed()
        await visitor.sendHit(.screen("home"))
        visitor.authenticate("member")
        visitor.unauthenticate()
        try await flagship.client?.flush()
    }

    @Test("nothing is reported unless it is turned on, whatever the vendor asks for")
    func silent() async throws {
        let bench = try await Bench(Self.file())
        let flagship = await bench.flagship()
        #expect(flagship.service?.reporter == nil)
        try await Self.live(bench, flagship, try Self.sample().wanted)
        #expect(await bench.mock.receivedReports.isEmpty)
    }

    @Test("usage reports describe Flagship's configuration, under a random name for this run and without the visitor")
    func usage() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship {
            $0.reports = .usage
            $0.timeout = .milliseconds(1_500)
            $0.tracking.poolMaxSize = 3
        }
        let sample = try Self.sample()
        let visitor = await flagship.newVisitor(sample.wanted, hasConsented: true).build()
        await visitor.fetchFlags()
        #expect(await bench.eventually { await bench.mock.receivedReports.count == 1 })
        let exchange = try #require(bench.transport.exchanges("analytics").first)
        #expect(exchange.request.path == "/analytics" && exchange.status == 200)
        let report = exchange.json
        #expect(report["t"] == "USAGE" && report["cid"] == .string(Bench.environmentID) && report["ds"] == "APP")
        #expect(report["vid"]?.stringValue == flagship.service?.reporter?.sessionID && report["qt"] == 0)
        var fields = try #require(report["cv"]?.objectValue)
        #expect(fields.removeValue(forKey: "flagshipInstanceId")?.stringValue?.count == 36)
        #expect(fields.removeValue(forKey: "timeZone")?.stringValue?.isEmpty == false)
        let now: FlagValue = .string(FlagshipReport.text(of: bench.time.now))
        #expect(
            fields == [
                "version": "1", "envId": .string(Bench.environmentID), "timestamp": now, "label": "SDK_CONFIG",
                "logLevel": "INFO", "stack.type": "SDK", "stack.name": "iOS", "stack.version": "4.0.3",
                "sdk.status": "SDK_INITIALIZED", "sdk.config.mode": "DECISION_API", "sdk.config.timeout": "1500",
                "sdk.config.pollingTime": "60000", "sdk.config.logLevel": "ALL",
                "sdk.config.usingCustomHitCache": "false", "sdk.config.usingCustomVisitorCache": "false",
                "sdk.config.usingOnVisitorExposed": "false", "sdk.config.usingCustomLogManager": "true",
                "sdk.config.decisionApiUrl": "https://decision.flagship.io/v2/",
                "sdk.config.trackingManager.strategy": "CONTINUOUS_CACHING",
                "sdk.config.trackingManager.batchIntervals": "5000", "sdk.config.trackingManager.poolMaxSize": "3",
                "sdk.lastInitializationTimestamp": now,
            ]
        )
        // Other visitors aren't sampled, and one without consent is never reported.
        await flagship.newVisitor(sample.other, hasConsented: true).build().fetchFlags()
        await flagship.newVisitor(sample.wanted, hasConsented: false).build().fetchFlags()
        await visitor.fetchFlags()
        #expect(await bench.eventually { await bench.mock.receivedReports.count == 2 })
        #expect(bench.transport.exchanges("troubleshooting").isEmpty)
    }

    @Test("troubleshooting reports have each of the vendor's labels, once the account is known to want them")
    func troubleshooting() async throws {
        let bench = try await Bench(Self.file())
        let flagship = await bench.flagship { $0.reports = .troubleshooting }
        try await Self.live(bench, flagship)
        let expected = [
            "FLAG_EXPOSED_BEFORE_CALLING_VALUE_METHOD", "VISITOR_AUTHENTICATE", "VISITOR_EXPOSED_FLAG_NOT_FOUND",
            "VISITOR_FETCH_CAMPAIGNS", "VISITOR_SEND_ACTIVATE", "VISITOR_SEND_ACTIVATE", "VISITOR_SEND_HIT",
            "VISITOR_UNAUTHENTICATE",
        ]
        #expect(await bench.eventually { await Self.labels(bench).sorted() == expected })
        #expect(bench.transport.exchanges("troubleshooting").allSatisfy { $0.status == 200 })
        #expect(bench.transport.exchanges("analytics").isEmpty)
        func fields(_ label: String) async -> [String: FlagValue]? {
            await Self.received(bench).first { $0["cv"]?.objectValue?["label"] == .string(label) }?["cv"]?.objectValue
        }
        let session = try #require(flagship.service?.reporter?.sessionID)
        let fetch = try #require(await fields("VISITOR_FETCH_CAMPAIGNS"))
        #expect(fetch["visitor.visitorId"] == "ada" && fetch["visitor.anonymousId"] == "null")
        #expect(fetch["visitor.sessionId"] == .string(session))
        #expect(fetch["visitor.consent"] == "true" && fetch["visitor.isAuthenticated"] == "false")
        #expect(fetch["visitor.context.city"] == "lyon" && fetch["visitor.context.sdk_osName"] == "iOS")
        #expect(fetch["visitor.flags.cta.value"] == "new" && fetch["visitor.flags.cta.key"] == "cta")
        #expect(fetch["visitor.flags.cta.metadata.variationGroupId"] == "grp-test")
        #expect(fetch["visitor.flags.theme.value"] == #"{"dark":false}"#)
        #expect(fetch["visitor.assignments.grp-test"] == "var-b" && fetch["sdk.config.mode"] == "DECISION_API")
        let campaigns = try JSON.parse(Array(try #require(fetch["visitor.campaigns"]?.stringValue).utf8)).arrayValue
        #expect(campaigns?.count == 3)
        let hit = try #require(await fields("VISITOR_SEND_HIT"))
        #expect(hit["hit.t"] == "SCREENVIEW" && hit["hit.dl"] == "home" && hit["logLevel"] == "INFO")
        let unknown = try #require(await fields("VISITOR_EXPOSED_FLAG_NOT_FOUND"))
        #expect(unknown["flag.key"] == "nobody" && unknown["logLevel"] == "WARNING")
        #expect(unknown["flag.defaultValue"] == "5")
        let unread = try #require(await fields("FLAG_EXPOSED_BEFORE_CALLING_VALUE_METHOD"))
        #expect(unread["flag.key"] == "size" && unread["flag.defaultValue"] == "null")
        let signedIn = try #require(await fields("VISITOR_AUTHENTICATE"))
        #expect(signedIn["visitor.visitorId"] == "member" && signedIn["visitor.anonymousId"] == "ada")
    }

    @Test("a visitor without consent is in no report, nor is one outside the dates or the share")
    func notWanted() async throws {
        let none = try await Bench(Self.file(traffic: 0))
        let over = try await Bench(Self.file(now: ManualTime().now.addingTimeInterval(-90_000)))
        let denied = try await Bench(Self.file())
        for (bench, consent) in [(none, true), (over, true), (denied, false)] {
            let flagship = await bench.flagship { $0.reports = [.usage, .troubleshooting] }
            try await Self.live(bench, flagship, consent: consent)
            for _ in 0..<1_000 { await Task.yield() }
            #expect(await bench.mock.receivedReports.isEmpty)
        }
    }

    static let now = Date(timeIntervalSince1970: 1_900_000_000)  // 2030-03-17T17:46:40Z

    @Test(
        "the vendor wants a visitor between its dates, in any format, and up to its share",
        arguments: [
            ("2030-03-17T17:46:39Z", "2030-03-17T17:46:41Z", 100, true),
            ("2030-03-17T17:46:39.000Z", "2030-03-17T17:46:41.500Z", 100, true),
            ("2030-03-17T18:46:39.000+0100", "2030-03-17T17:46:41.000+0000", 100, true),
            ("2030-03-17T17:46:40Z", "2030-03-17T17:46:41Z", 100, false),
            ("2030-03-17T17:46:39Z", "2030-03-17T17:46:40Z", 100, false),
            ("tomorrow", "2030-03-17T17:46:41Z", 100, false), ("2030-03-17T17:46:39Z", "", 100, false),
            ("2030-03-17T17:46:39Z", "2030-03-17T17:46:41Z", 0, false),
            ("2030-03-17T17:46:39Z", "2030-03-17T17:46:41Z", -5, false),
        ]
    )
    func share(start: String, end: String, traffic: Int, isWanted: Bool) {
        let block = AccountSettings.Troubleshooting(
            startDate: start,
            endDate: end,
            traffic: traffic
        )
        #expect(block.wants("ada", at: Self.now) == isWanted)
    }

    @Test("the share uses a hash of visitor and end date, and usage is drawn again each local day")
    func draws() throws {
        let end = "2030-03-17T17:46:41Z"
        let block = AccountSettings.Troubleshooting(
            startDate: "2030-03-17T17:46:39Z",
            endDate: end,
            traffic: 30
        )
        // Fourteen hours ahead, it is already the next day.
        let islands = try #require(TimeZone(secondsFromGMT: 14 * 3_600))
        let london = try #require(TimeZone(secondsFromGMT: 0))
        for index in 0..<2_000 {
            let id = "v-\(index)"
            #expect(block.wants(id, at: Self.now) == (FlagshipMurmur3.hash(id + end) % 100 < 30))
            for (zone, day) in [(islands, "20300318"), (london, "20300317")] {
                let isDrawn = FlagshipMurmur3.hash(id + day) % 1_000 <= 1
                #expect(FlagshipReports.wantsUsage(of: id, at: Self.now, in: zone) == isDrawn)
            }
        }
    }

    @Test(
        "a transport failure is reported with its exchange, and never the key",
        arguments: [
            (FlagshipConfiguration.Mode.decisionAPI, "campaigns", "GET_CAMPAIGNS_ROUTE_RESPONSE_ERROR"),
            (.decisionAPI, "hits", "SEND_BATCH_HIT_ROUTE_RESPONSE_ERROR"),
            (.decisionAPI, "activate", "SEND_ACTIVATE_HIT_ROUTE_ERROR"),
            (.bucketing, "bucketing", "SDK_BUCKETING_FILE_ERROR"),
        ]
    )
    func failures(mode: FlagshipConfiguration.Mode, operation: String, label: String) async throws {
        let bench = try await Bench(Self.file())
        let flagship = await bench.flagship(mode) { $0.reports = .troubleshooting }
        #expect(await bench.eventually { flagship.status == .initialized })
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        // Building a visitor begins to deliver their consent; without other events, its failure is no visitor's report.
        try await flagship.client?.flush()
        bench.transport.fail(operation, .body(#"{"message":"no"}"#, status: 500), times: 3)
        if operation == "bucketing" {
            #expect(await bench.nextPoll())
        } else {
            await visitor.fetchFlags()
            _ = visitor.flag("cta").value(default: "none")
            await visitor.sendHit(.screen("home"))
            _ = try? await flagship.client?.flush(retrying: false)
        }
        #expect(await bench.eventually { await Self.labels(bench).contains(label) })
        let report = try #require(
            await Self.received(bench).first { $0["cv"]?.objectValue?["label"] == .string(label) }
        )
        let fields = try #require(report["cv"]?.objectValue)
        #expect(fields["logLevel"] == "ERROR" && fields["http.response.code"] == "500")
        #expect(fields["http.response.body"] == #"{"message":"no"}"#)
        #expect(fields["http.request.method"] == (operation == "bucketing" ? "GET" : "POST"))
        #expect(fields["http.request.url"]?.stringValue?.hasPrefix("https://") == true)
        #expect(fields["http.response.time"] == "0")
        for report in await bench.mock.receivedReports { #expect(!report.contains(Bench.apiKey)) }
    }

    @Test("a file is reported whole up to a limit, and a failed request by its error")
    func filesAndErrors() async throws {
        let long = #"{"id":"long","variationGroups":[],"name":"\#(String(repeating: "x", count: 100_000))"}"#
        let bench = try await Bench(Self.file().replacing(#""campaigns":["#, with: #""campaigns":[\#(long),"#))
        let flagship = await bench.flagship(.bucketing) { $0.reports = .troubleshooting }
        #expect(await bench.eventually { flagship.status == .initialized })
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        await bench.mock.setSendsValidators(false)
        #expect(await bench.nextPoll())
        #expect(await bench.eventually { await Self.labels(bench).contains("SDK_BUCKETING_FILE") })
        let file = await Self.received(bench).compactMap { $0["cv"]?.objectValue?["http.response.body"]?.stringValue }
        #expect(file.map(\.utf8.count) == [FlagshipReport.longest])
        for failure in [VendorTransport.Failure.error(.transport), .body("{")] {
            bench.transport.fail("bucketing", failure)
            #expect(await bench.nextPoll())
        }
        #expect(
            await bench.eventually { await Self.labels(bench).filter { $0 == "ERROR_CATCHED" }.count == 2 }
        )
        let messages = await Self.received(bench).compactMap {
            $0["cv"]?.objectValue?["error.message"]?.stringValue?.split(separator: ":").first
        }
        #expect(Set(messages) == ["TRANSPORT", "PARSE_ERROR"])
        // After the withdrawal, no consenting visitor is left to report about.
        await visitor.setConsent(false)
        #expect(await bench.nextPoll())
        for _ in 0..<1_000 { await Task.yield() }
        #expect(await bench.mock.receivedReports.count == 4)
    }

    @Test(
        "requests in progress when a visitor withdrew consent aren't reported",
        arguments: ["campaigns", "hits", "activate"]
    )
    func withdrawn(operation: String) async throws {
        let bench = try await Bench(Self.file())
        let flagship = await bench.flagship { $0.reports = .troubleshooting }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        try await flagship.client?.flush()
        await visitor.sendHit(.screen("home"))
        _ = visitor.flag("cta").value(default: "none")
        let gate = AsyncGate()
        bench.transport.fail(operation, .stalled(gate))
        let underWay = Task {
            if operation == "campaigns" {
                await visitor.fetchFlags()
            } else {
                _ = try? await flagship.client?.flush(retrying: false)
            }
        }
        try await eventually("the request under way") { gate.waiting == 1 }
        await visitor.setConsent(false)
        gate.open()
        await underWay.value
        // What is reported later is sent later.
        let other = await flagship.newVisitor("ben", hasConsented: true).build()
        bench.transport.fail("campaigns", .error(.transport))
        await other.fetchFlags()
        #expect(await bench.eventually { await Self.labels(bench).contains("ERROR_CATCHED") })
        let caught = await Self.received(bench).filter {
            $0["cv"]?.objectValue?["label"]?.stringValue == "ERROR_CATCHED"
        }
        #expect(caught.map { $0["vid"] } == ["ben"])
    }

    @Test("a visitor who withdrew consent isn't in the report of a failed delivery of their earlier statement")
    func withdrawnBefore() async throws {
        let bench = try await Bench(Self.file())
        let flagship = await bench.flagship { $0.reports = .troubleshooting }
        let ben = await flagship.newVisitor("ben", hasConsented: true).build()
        await ben.fetchFlags()
        try await flagship.client?.flush()
        await flagship.client?.setConnectivity(.offline)
        let ada = await flagship.newVisitor("ada", hasConsented: true).build()
        await ada.setConsent(false)
        await ben.sendHit(.screen("home"))
        bench.transport.fail("hits", .status(500))
        await flagship.client?.setConnectivity(.online)
        _ = try? await flagship.client?.flush(retrying: false)
        let label = "SEND_BATCH_HIT_ROUTE_RESPONSE_ERROR"
        #expect(await bench.eventually { await Self.labels(bench).contains(label) })
        #expect(await Self.received(bench).allSatisfy { $0["vid"] == "ben" })
    }

    @Test("reports that can't be delivered are lost, few are sent concurrently, and nothing else is delayed")
    func lost() async throws {
        let bench = try await Bench(Self.file())
        bench.transport.fail("troubleshooting", .error(.transport), times: 1_000)
        let flagship = await bench.flagship { $0.reports = .troubleshooting }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        for index in 0..<100 { await visitor.sendHit(.screen("\(index)")) }
        try await flagship.client?.flush()
        #expect(await bench.hits.count == 101)
        #expect(await bench.eventually { bench.transport.exchanges("troubleshooting").count >= 2 })
        #expect(
            await bench.eventually {
                bench.log.entries.contains { $0.event == "flagship.DATA_TR_USAGE" && $0.level == .debug }
            }
        )
        #expect(await bench.mock.receivedReports.isEmpty)
    }

    @Test("a time is reported in whole milliseconds, limited to the largest number")
    func milliseconds() {
        #expect(FlagshipReport.milliseconds(.microseconds(1_500_900)) == "1500")
        #expect(FlagshipReport.milliseconds(.seconds(Int64.max)) == String(Int64.max))
    }

    @Test("a report's level follows from its label", arguments: FlagshipReport.Label.allCases)
    func levels(label: FlagshipReport.Label) {
        let expected =
            switch label {
            case .fileFailed, .campaignsFailed, .hitsFailed, .exposuresFailed, .caught: "ERROR"
            case .exposedUnknownFlag: "WARNING"
            default: "INFO"
            }
        #expect(label.level == expected)
    }

    @Test("a configuration file can turn reports on by name, and by no other name")
    func configured() throws {
        func reports(_ list: String) throws -> FlagshipReports {
            try ConfigurationTests.read(#"{"environmentID":"env","apiKey":"key","reports":\#(list)}"#).reports
        }
        #expect(try reports("[]") == [])
        #expect(try reports(#"["usage"]"#) == .usage)
        #expect(try reports(#"["usage","troubleshooting"]"#) == [.usage, .troubleshooting])
        for list in [#"["everything"]"#, "true", "[1]"] {
            #expect(throws: ExperimentationError.self) { _ = try reports(list) }
        }
        #expect(try ConfigurationTests.read(#"{"environmentID":"env","apiKey":"key"}"#).reports == [])
    }
}
