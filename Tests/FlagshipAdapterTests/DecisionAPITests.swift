import AdapterKit
import Experimentation
import ExperimentationTesting
import FlagshipAdapter
import MockVendors
import Testing

@Suite("Decision API")
struct DecisionAPITests {
    static let ada = User(
        id: "ada",
        attributes: ["city": "lyon", "age": 41, "ratio": 0.5, "vip": true],
        consent: .granted
    )

    @Test("F08 a fetch posts to the environment's campaigns and requests all keys and the account's settings")
    func path() async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        try await session.refresh()
        let exchange = try #require(bench.transport.exchanges("campaigns").first)
        #expect(exchange.request.method == "POST")
        #expect(exchange.request.path == "/v2/\(Bench.environmentID)/campaigns")
        #expect(exchange.request.query == "exposeAllKeys=true&extras%5B%5D=accountSettings")
        #expect(exchange.limits.deadline == .seconds(2))
    }

    @Test("F09 a fetch names key, SDK and version, and accepts JSON; exposures and hits don't name the key")
    func headers() async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        let session = client.session(for: Self.ada)
        try await session.refresh()
        _ = session.string("cta", default: "")
        try await session.track(.screenView("home"))
        try await client.flush()
        for operation in ["campaigns", "activate", "hits"] {
            let request = try #require(bench.transport.exchanges(operation).first).request
            #expect(request.header("accept") == "application/json")
            #expect(request.header("x-sdk-client") == "iOS")
            #expect(request.header("x-sdk-version") == "4.0.3")
            #expect(request.header("content-type") == "application/json")
            #expect(request.header("x-api-key") == (operation == "campaigns" ? Bench.apiKey : nil))
        }
    }

    @Test("F10 without an anonymous id the body has no such member, and it contains the whole context with its types")
    func body() async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        try await session.refresh()
        let body = try #require(bench.transport.exchanges("campaigns").first).json
        let context: [String: FlagValue] = [
            "city": "lyon", "age": 41, "ratio": 0.5, "vip": true, "fs_all_users": "", "fs_users": "ada",
            "fs_client": "iOS", "fs_version": "4.0.3", "sdk_deviceLanguage": "fr", "sdk_deviceType": "Mobile",
            "sdk_deviceModel": "iPhone12,8", "sdk_osName": "iOS", "sdk_osVersionName": "iOS",
            "sdk_osVersionCode": "18.0", "sdk_fsVersion": "4.0.3",
        ]
        #expect(
            body == [
                "visitor_id": "ada", "visitor_consent": true, "trigger_hit": false, "context": .object(context),
            ]
        )
    }

    @Test("F11 a signed-in visitor is sent with both ids")
    func bothIDs() async throws {
        let bench = try await Bench()
        let user = User(id: "ada", anonymousID: "anon", isAuthenticated: true, consent: .granted)
        try await bench.client().session(for: user).refresh()
        let body = try #require(bench.transport.exchanges("campaigns").first).json
        #expect(body["visitor_id"] == "ada")
        #expect(body["anonymousId"] == "anon")
    }

    @Test(
        "F12 without consent, flags are still fetched and read, and the vendor is notified",
        arguments: [Consent.denied, .unknown]
    )
    func withoutConsent(consent: Consent) async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: User(id: "ada", consent: consent))
        try await session.refresh()
        let body = try #require(bench.transport.exchanges("campaigns").first).json
        #expect(body["visitor_consent"] == false)
        #expect(session.string("cta", default: "none") == "new")
    }

    @Test("F13 every fetch tells the vendor not to record exposures by itself")
    func triggersNothing() async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        for _ in 0..<3 { try await session.refresh(force: true) }
        #expect(bench.transport.exchanges("campaigns").map { $0.json["trigger_hit"] } == [false, false, false])
        #expect(await bench.mock.receivedActivations.isEmpty)
    }

    @Test(
        "F14 a bad answer keeps the flags, which are then stale",
        arguments: [VendorTransport.Failure.status(500), .error(.transport), .status(429)]
    )
    func badAnswer(failure: VendorTransport.Failure) async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        try await session.refresh()
        bench.transport.fail("campaigns", failure)
        await #expect(throws: ExperimentationError.self) { try await session.refresh(force: true) }
        let details = session.details("cta", default: "none")
        #expect(details.value == "new")
        #expect(details.reason == .stale)
        try await session.refresh(force: true)
        #expect(session.details("cta", default: "none").reason == .split)
    }

    @Test("F15 an answer after the timeout counts as none, and the flags stay")
    func timeout() async throws {
        let bench = try await Bench()
        let client = try await bench.client { $0.timeout = .milliseconds(700) }
        let session = client.session(for: Self.ada)
        try await session.refresh()
        bench.transport.fail("campaigns", .error(.timeout))
        await #expect(throws: ExperimentationError(.timeout, "as the test wants it")) {
            try await session.refresh(force: true)
        }
        #expect(bench.transport.exchanges("campaigns").allSatisfy { $0.limits.deadline == .milliseconds(700) })
        #expect(session.string("cta", default: "none") == "new")
    }

    @Test(
        "a campaign without a variation hides no other, and the log counts it",
        arguments: ["7", "{}", #"{"id":"other","variation":null}"#, #"{"id":"other","variation":["var"]}"#]
    )
    func withoutVariation(campaign: String) async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        let good = #"{"id":"camp","variation":{"id":"var","modifications":{"type":"FLAG","value":{"cta":"new"}}}}"#
        bench.transport.fail("campaigns", .body(#"{"campaigns":[\#(campaign),\#(good)]}"#))
        try await session.refresh()
        #expect(session.string("cta", default: "none") == "new")
        let warnings = bench.log.entries.filter { $0.event == "flagship.unreadable" && $0.level == .warning }
        #expect(warnings.map(\.message) == ["parts that can't be read in the Decision API's answer: 1"])
    }

    @Test(
        "F16 an object without a list of campaigns is no answer: flags stay, and without any the client isn't ready",
        arguments: [
            "{}", #"{"visitorId":"ada"}"#, #"{"message":"Hello"}"#, #"{"campaigns":null}"#, #"{"campaigns":{}}"#,
        ]
    )
    func emptyObject(text: String) async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        bench.transport.fail("campaigns", .body(text))
        await #expect(throws: ExperimentationError.self) { try await session.refresh() }
        #expect(session.status != .ready)
        #expect(session.details("cta", default: "none").errorCode == .providerNotReady)
        try await session.refresh()
        bench.transport.fail("campaigns", .body(text))
        await #expect { try await session.refresh(force: true) } throws: { error in
            (error as? ExperimentationError)?.code == .parseError
        }
        let details = session.details("cta", default: "none")
        #expect(details.value == "new" && details.reason == .stale)
    }

    @Test("an empty list is an answer without flags")
    func emptyList() async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        bench.transport.fail("campaigns", .body(#"{"campaigns":[]}"#))
        try await session.refresh()
        #expect(session.decisions.keys == [] && session.status == .ready)
        #expect(session.details("cta", default: "none").errorCode == .flagNotFound)
    }

    @Test("panic needs no list of campaigns")
    func barePanic() async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        bench.transport.fail("campaigns", .body(#"{"panic":true}"#))
        try await session.refresh()
        #expect(session.status == .disabled)
    }

    @Test(
        "F17 a page, a list, truncated text and an empty body are no answers",
        arguments: ["<html><body>Hello</body></html>", "[]", #"{"campaigns":[{"id":"#, ""]
    )
    func notJSON(text: String) async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        try await session.refresh()
        bench.transport.fail("campaigns", .body(text))
        await #expect { try await session.refresh(force: true) } throws: { error in
            guard let error = error as? ExperimentationError else { return false }
            return error.code == .parseError && error.message.hasPrefix("the Decision API's answer: ")
        }
        #expect(session.string("cta", default: "none") == "new")
    }

    @Test("F18 a flag missing in a later answer is gone")
    func replacedWhole() async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        try await session.refresh()
        #expect(session.int("size", default: 0) == 7)
        bench.transport.fail("campaigns", .body(Self.answer(#"{"cta":"new"}"#)))
        try await session.refresh(force: true)
        #expect(session.string("cta", default: "none") == "new")
        #expect(session.details("size", default: 0).errorCode == .flagNotFound)
    }

    @Test("F19 of two campaigns with the same flag the later one wins, metadata included")
    func laterWins() async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        try await session.refresh()
        let details = session.details("color", default: "none")
        #expect(details.value == "gold")
        #expect(details.variant == "var-lyon")
        #expect(details.reason == .targetingMatch)
        #expect(
            details.metadata == [
                "campaignId": "camp-lyon", "campaignName": "Lyon", "variationGroupId": "grp-lyon",
                "variationGroupName": "Lyon", "variationId": "var-lyon", "variationName": "L", "isReference": true,
                "campaignType": "perso", "slug": "lyon",
            ]
        )
        #expect(session.assignments.map(\.group) == ["grp-plain", "grp-test", "grp-lyon"])
    }

    @Test("F20 in panic mode reads return defaults, and neither exposures nor hits are sent")
    func panic() async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        let session = client.session(for: Self.ada)
        try await session.refresh()
        await bench.mock.setPanic(true)
        try await session.refresh(force: true)
        #expect(session.status == .disabled)
        #expect(session.details("cta", default: "none").value == "none")
        try await session.track(.screenView("home"))
        try await client.flush(retrying: false)
        #expect(bench.transport.exchanges("activate").isEmpty && bench.transport.exchanges("hits").isEmpty)
    }

    @Test("F21 an answer without panic ends it, and waiting hits are sent")
    func panicEnds() async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        let session = client.session(for: Self.ada)
        await bench.mock.setPanic(true)
        try await session.refresh()
        try await session.track(.screenView("home"))
        await bench.mock.setPanic(false)
        try await session.refresh(force: true)
        #expect(session.string("cta", default: "none") == "new")
        try await client.flush()
        #expect(await bench.hits.map { $0["t"] } == ["SCREENVIEW"])
        #expect(await bench.mock.receivedActivations.map(\.variation) == ["var-b"])
    }

    @Test("F22 a null flag exists and reads as the default, and its variation is exposed")
    func nullFlag() async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        let session = client.session(for: Self.ada)
        try await session.refresh()
        #expect(session.decisions["onlyA"]?.value == .null)
        let details = session.details("onlyA", default: 5)
        #expect(details.value == 5)
        #expect(details.errorCode == nil)
        #expect(session.int("onlyA", default: 6) == 6)
        try await client.flush()
        #expect(await bench.mock.receivedActivations.map(\.variation) == ["var-b"])
    }

    @Test("F23 a null slug reads as an empty one")
    func nullSlug() async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: User(id: "ada", consent: .granted))
        try await session.refresh()
        #expect(session.details("size", default: 0).metadata["slug"] == "")
    }

    @Test(
        "F24 every 2xx status is good, and no other",
        arguments: [(200, true), (299, true), (300, false), (400, false)]
    )
    func statuses(status: Int, isGood: Bool) async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        bench.transport.fail("campaigns", .body(Self.answer(#"{"cta":"new"}"#), status: status))
        if isGood {
            try await session.refresh()
        } else {
            await #expect(throws: ExperimentationError.self) { try await session.refresh() }
        }
        #expect(session.string("cta", default: "none") == (isGood ? "new" : "none"))
    }

    @Test("a wrong key is reported as such, without the key")
    func wrongKey() async throws {
        let bench = try await Bench()
        let session = try await bench.client { $0.apiKey = "a-wrong-key" }.session(for: Self.ada)
        await #expect { try await session.refresh() } throws: { error in
            (error as? ExperimentationError)?.code == .unauthorized && !"\(error)".contains("a-wrong-key")
        }
    }

    @Test(
        "a campaign without a type, or with flags that aren't an object, hides no other",
        arguments: [
            #"{"id":"x","variation":{"id":"v","modifications":{"value":{"cta":"bad"}}}}"#,
            #"{"id":"x","variation":{"id":"v","modifications":{"type":"FLAG","value":[1]}}}"#,
            #"{"id":"x","variation":null}"#, "7", "null",
        ]
    )
    func malformedCampaign(campaign: String) async throws {
        let bench = try await Bench()
        let session = try await bench.client().session(for: Self.ada)
        let good = Self.answer(#"{"cta":"new"}"#)
        bench.transport.fail(
            "campaigns",
            .body(good.replacing(#""campaigns":["#, with: #""campaigns":[\#(campaign),"#))
        )
        try await session.refresh()
        #expect(session.decisions.keys == ["cta"])
    }

    static func answer(_ flags: String) -> String {
        #"{"visitorId":"ada","campaigns":[{"id":"c","name":"C","slug":null,"type":"ab","variationGroupId":"g","variationGroupName":"G","variation":{"id":"v","name":"V","reference":false,"modifications":{"type":"FLAG","value":\#(flags)}}}]}"#
    }
}
