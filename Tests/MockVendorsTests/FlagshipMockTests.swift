import Foundation
import MockVendors
import Testing

@Suite("Flagship's server side")
struct FlagshipMockTests {
    static let file = """
        {"accountSettings":{"enabledXPC":true,"enabled1V1T":false},
         "campaigns":[
          {"id":"camp-1","name":"One","slug":"one","type":"ab","bucketRanges":[{"r":[0,100]}],"variationGroups":[
            {"id":"vg-1","name":"All","targeting":{"targetingGroups":[{"targetings":[
              {"operator":"EQUALS","key":"fs_all_users","value":""}]}]},
             "variations":[
              {"id":"var-a","name":"A","allocation":50,"reference":true,"modifications":{"type":"FLAG","value":{"on":false,"onlyA":1}}},
              {"id":"var-b","name":"B","allocation":50,"modifications":{"type":"FLAG","value":{"on":true}}}]}]},
          {"id":"camp-2","name":"Two","slug":null,"type":"ab","bucketRanges":[{"r":[0,100]}],"variationGroups":[
            {"id":"vg-2","name":"Lyon","targeting":{"targetingGroups":[{"targetings":[
              {"operator":"EQUALS","key":"city","value":"Lyon"}]}]},
             "variations":[{"id":"var-c","name":"C","allocation":100,"modifications":{"type":"FLAG","value":{"city":"lyon"}}}]}]}]}
        """

    static func mock(_ file: String = file) async throws -> FlagshipMock {
        let mock = FlagshipMock()
        try await mock.load(Data(file.utf8))
        return mock
    }

    static func ask(
        _ mock: FlagshipMock,
        _ body: String,
        query: String? = "exposeAllKeys=true&extras[]=accountSettings",
        key: String = "flagship-mock-key",
        path: String = "/v2/bkk9glocmjcg0vtmdlng/campaigns"
    ) async -> MockResponse {
        await mock.respond(
            to: MockRequest(
                method: "POST",
                path: path,
                query: query,
                headers: [.init("x-api-key", key)],
                body: Array(body.utf8)
            )
        )
    }

    static func json(_ response: MockResponse) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    static func campaigns(_ response: MockResponse) throws -> [String: String] {
        let list = try #require(try json(response)["campaigns"] as? [[String: Any]])
        return Dictionary(
            uniqueKeysWithValues: try list.map {
                (
                    try #require($0["id"] as? String),
                    try #require(($0["variation"] as? [String: Any])?["id"] as? String)
                )
            }
        )
    }

    @Test("a campaign is decided by hash and targeting, in either spelling of the fields, with or without a slash")
    func decides() async throws {
        let mock = try await Self.mock()
        let ios = #"{"visitor_id":"alice","context":{"city":"LYON"},"trigger_hit":false,"visitor_consent":true}"#
        let other = #"{"visitorId":"alice","anonymousId":null,"context":{"city":"LYON"},"trigger_hit":false}"#
        let one = await Self.ask(mock, ios)
        let two = await Self.ask(mock, other, query: "exposeAllKeys=true", path: "/v2/bkk9glocmjcg0vtmdlng/campaigns/")
        #expect(one.status == 200)
        #expect(try Self.campaigns(one) == Self.campaigns(two))
        #expect(try Self.campaigns(one)["camp-2"] == "var-c")
        #expect(try Self.json(one)["extras"] != nil)
        #expect(try Self.json(two)["extras"] == nil)
        #expect(await mock.receivedActivations.isEmpty)
    }

    @Test("a key of other variations is null when all keys are requested, otherwise missing")
    func exposesAllKeys() async throws {
        // murmur3("vg-1" + "carol") falls into one half, and that of one of these into the other.
        let mock = try await Self.mock()
        var seen: Set<String> = []
        for id in ["a", "b", "c", "d", "e", "f"] {
            let body = #"{"visitor_id":"\#(id)","context":{},"trigger_hit":false}"#
            let all = await Self.ask(mock, body, query: "exposeAllKeys=true")
            let some = await Self.ask(mock, body, query: nil)
            guard try Self.campaigns(all)["camp-1"] == "var-b" else { continue }
            seen.insert(id)
            #expect(all.text.contains(#""onlyA":null"#))
            #expect(!some.text.contains("onlyA"))
        }
        #expect(!seen.isEmpty)
    }

    @Test("the gateway rejects a wrong key, an unknown environment, an unknown field and invalid JSON")
    func refuses() async throws {
        let mock = try await Self.mock()
        let good = #"{"visitor_id":"alice","context":{}}"#
        #expect(await Self.ask(mock, good, key: "wrong").status == 403)
        #expect(await Self.ask(mock, good, path: "/v2/another0000000000000/campaigns").status == 400)
        #expect(await Self.ask(mock, #"{"visitor_id":"alice","colour":1}"#).status == 400)
        #expect(await Self.ask(mock, "colour=1").status == 400)
        #expect(await Self.ask(mock, #"{"visitor_id":7}"#).status == 400)
        await mock.setStrict(false)
        #expect(await Self.ask(mock, #"{"visitor_id":"alice","colour":1}"#).status == 200)
        let get = MockRequest(method: "GET", path: "/v2/bkk9glocmjcg0vtmdlng/campaigns")
        #expect(await mock.respond(to: get).status == 405)
    }

    @Test("two spellings of one field at once are rejected, while a synonym isn't a second spelling")
    func twoSpellings() async throws {
        let mock = try await Self.mock()
        let twice = #"{"visitor_id":"alice","visitorId":"alice","context":{},"trigger_hit":false}"#
        let answer = await Self.ask(mock, twice)
        #expect(answer.status == 400 && answer.text.contains("duplicate field"))
        let synonym = #"{"visitor_id":"alice","context":{},"trigger_hit":false,"activate":true}"#
        #expect(await Self.ask(mock, synonym).status == 200)
        #expect(await mock.receivedActivations.isEmpty)
        await mock.setStrict(false)
        #expect(await Self.ask(mock, twice).status == 200)
    }

    @Test("modifications without a type are answered without one")
    func withoutType() async throws {
        let mock = FlagshipMock()
        let file = #"""
            {"campaigns":[{"id":"c","type":"ab","bucketRanges":[{"r":[0,100]}],"variationGroups":[{"id":"g",
            "targeting":{"targetingGroups":[{"targetings":[{"operator":"EQUALS","key":"fs_all_users","value":""}]}]},
            "variations":[{"id":"v","allocation":100,"modifications":{"value":{"a":1}}}]}]}]}
            """#
        try await mock.load(Data(file.utf8))
        let answer = await Self.ask(mock, #"{"visitor_id":"a","context":{},"trigger_hit":false}"#)
        #expect(answer.text.contains(#""type":null"#))
    }

    @Test("panic mode empties the answer and the file, and can be lifted")
    func panics() async throws {
        let mock = try await Self.mock()
        await mock.setPanic(true)
        let answer = await Self.ask(mock, #"{"visitor_id":"alice"}"#)
        #expect(answer.text == #"{"campaigns":[],"panic":true,"visitorId":"alice"}"#)
        let file = await mock.respond(to: MockRequest(method: "GET", path: "/bkk9glocmjcg0vtmdlng/bucketing.json"))
        #expect(file.text == #"{"panic":true}"#)
        await mock.setPanic(false)
        #expect(try await Self.campaigns(Self.ask(mock, #"{"visitor_id":"alice"}"#)).count == 1)
    }

    @Test("a field trigger_hit that is true or missing exposes all decisions")
    func triggers() async throws {
        let mock = try await Self.mock()
        _ = await Self.ask(mock, #"{"visitor_id":"alice","context":{"city":"lyon"}}"#)
        #expect(await mock.receivedActivations.map(\.group) == ["vg-1", "vg-2"])
        #expect(await mock.receivedInOrder.map(\.activation?.group) == ["vg-1", "vg-2"])
    }

    @Test("a visitor keeps a variation although the allocation changes, also from an anonymous id")
    func remembers() async throws {
        let mock = try await Self.mock()
        let first = try await Self.campaigns(Self.ask(mock, #"{"visitor_id":"anon","trigger_hit":false}"#))["camp-1"]
        let other = first == "var-a" ? "var-b" : "var-a"
        let all = Self.file
            .replacing(
                #""var-a","name":"A","allocation":50"#,
                with: #""var-a","name":"A","allocation":\#(other == "var-a" ? 100 : 0)"#
            )
            .replacing(
                #""var-b","name":"B","allocation":50"#,
                with: #""var-b","name":"B","allocation":\#(other == "var-b" ? 100 : 0)"#
            )
        try await mock.load(Data(all.utf8))
        let again = #"{"visitor_id":"anon","trigger_hit":false}"#
        #expect(try await Self.campaigns(Self.ask(mock, again))["camp-1"] == first)
        let known = #"{"visitor_id":"known","anonymousId":"anon","trigger_hit":false}"#
        #expect(try await Self.campaigns(Self.ask(mock, known))["camp-1"] == first)
        let stranger = #"{"visitor_id":"stranger","trigger_hit":false}"#
        #expect(try await Self.campaigns(Self.ask(mock, stranger))["camp-1"] == other)
        await mock.setRemembers(false)
        #expect(try await Self.campaigns(Self.ask(mock, again))["camp-1"] == other)
    }

    @Test("with a bound, the latest visitors are remembered, at most twice as many as the bound")
    func bounded() async throws {
        let mock = try await Self.mock()
        await mock.setRemembered(visitors: 3)
        for visitor in ["v-1", "v-2", "v-3", "v-4", "v-5", "v-6", "v-7"] {
            _ = await Self.ask(mock, #"{"visitor_id":"\#(visitor)","trigger_hit":false}"#)
        }
        var remembered: [String] = []
        for visitor in ["v-1", "v-3", "v-4", "v-6", "v-7"] where await !mock.assignments(of: visitor).isEmpty {
            remembered.append(visitor)
        }
        #expect(remembered == ["v-4", "v-6", "v-7"])
    }

    @Test("one visitor gets one test if the account says so")
    func oneTest() async throws {
        let mock = try await Self.mock(Self.file.replacing(#""enabled1V1T":false"#, with: #""enabled1V1T":true"#))
        let answer = await Self.ask(mock, #"{"visitor_id":"alice","context":{"city":"lyon"},"trigger_hit":false}"#)
        #expect(try Self.campaigns(answer).keys.sorted() == ["camp-1"])
        let seen = #"{"cid":"bkk9glocmjcg0vtmdlng","vid":"bob","caid":"vg-2","vaid":"var-c"}"#
        let activate = MockRequest(method: "POST", path: "/v2/activate", body: Array(seen.utf8))
        #expect(await mock.respond(to: activate).status == 204)
        let bob = await Self.ask(mock, #"{"visitor_id":"bob","context":{"city":"lyon"},"trigger_hit":false}"#)
        #expect(try Self.campaigns(bob).keys.sorted() == ["camp-2"])
    }

    @Test("a campaign is open only to buckets in its ranges, and without ranges to none")
    func bucketRanges() async throws {
        let body = #"{"visitor_id":"abc","trigger_hit":false}"#  // murmur3("abc") % 100 = 2
        for (ranges, isOpen) in [(#"[{"r":[0,2]}]"#, false), (#"[{"r":[2,3]}]"#, true), ("[]", false)] {
            let mock = try await Self.mock(
                Self.file.replacing(#""bucketRanges":[{"r":[0,100]}]"#, with: #""bucketRanges":\#(ranges)"#)
            )
            #expect(try await Self.campaigns(Self.ask(mock, body)).isEmpty == !isOpen)
        }
    }

    @Test(
        "a rule matches as by the server's rules",
        arguments: [
            (#"{"operator":"EQUALS","key":"n","value":5.0}"#, true),
            (#"{"operator":"NOT_EQUALS","key":"n","value":"5"}"#, false),
            (#"{"operator":"NOT_EQUALS","key":"missing","value":"5"}"#, false),
            (#"{"operator":"CONTAINS","key":"n","value":5}"#, false),
            (#"{"operator":"STARTS_WITH","key":"s","value":"FL"}"#, true),
            (#"{"operator":"ENDS_WITH","key":"s","value":"er"}"#, true),
            (#"{"operator":"EXISTS","key":"s","value":true}"#, true),
            (#"{"operator":"EXISTS","key":"missing","value":false}"#, true),
            (#"{"operator":"NOT_EXISTS","key":"s","value":true}"#, false),
            (#"{"operator":"EQUALS","key":"s","value":["x","FLOWER"]}"#, true),
            (#"{"operator":"NOT_EQUALS","key":"s","value":["x","FLOWER"]}"#, false),
            (#"{"operator":"GREATER_THAN","key":"n","value":[1]}"#, false),
            (#"{"operator":"NOT_EQUALS","key":"s","value":[]}"#, true),
            (#"{"operator":"EQUALS","key":"s","value":[]}"#, false),
            (#"{"operator":"SEMVER_EQUALS","key":"s","value":"1"}"#, false),
            (#"{"operator":"EQUALS","key":"fs_users","value":"alice"}"#, true),
        ]
    )
    func serverRules(rule: String, matches: Bool) async throws {
        let mock = try await Self.mock(
            Self.file.replacing(#"{"operator":"EQUALS","key":"city","value":"Lyon"}"#, with: rule)
        )
        let body = #"{"visitor_id":"alice","trigger_hit":false,"context":{"n":5,"s":"Flower","fs_users":"bob"}}"#
        #expect(try await Self.campaigns(Self.ask(mock, body)).keys.contains("camp-2") == matches)
    }

    @Test("the CDN answers 304 to its own date, and gives a new date with a new file")
    func validators() async throws {
        let mock = try await Self.mock()
        func get(_ since: String?) async -> MockResponse {
            let headers = since.map { [MockRequest.Header("If-Modified-Since", $0)] } ?? []
            return await mock.respond(
                to: MockRequest(method: "GET", path: "/bkk9glocmjcg0vtmdlng/bucketing.json", headers: headers)
            )
        }
        func date(_ response: MockResponse) -> String? { response.headers.first { $0.name == "Last-Modified" }?.value }
        let first = await get(nil)
        #expect(first.status == 200 && first.text == Self.file)
        let same = await get(date(first))
        #expect(same.status == 304 && same.body.isEmpty)
        try await mock.load(Data(#"{"campaigns":[]}"#.utf8))
        let next = await get(date(first))
        #expect(next.status == 200 && date(next) != date(first))
        // A client with a file from one mock may meet another one with the same number of changes.
        let other = try await Self.mock()
        try await other.load(Data(#"{"campaigns":[],"panic":false}"#.utf8))
        #expect(await other.lastModified != mock.lastModified)
        await mock.setSendsValidators(false)
        let bare = await get(date(next))
        #expect(bare.status == 200 && date(bare) == nil)
    }

    @Test("activate accepts one and many, and rejects a batch with one bad entry as a whole")
    func activates() async throws {
        let mock = try await Self.mock()
        func post(_ body: String) async -> MockResponse {
            await mock.respond(to: MockRequest(method: "POST", path: "/v2/activate", body: Array(body.utf8)))
        }
        let batch =
            #"{"cid":"bkk9glocmjcg0vtmdlng","batch":[{"vid":"u","aid":null,"caid":"vg-1","vaid":"var-a","qt":0},{"vid":"u","caid":"vg-2","vaid":"var-c","qt":7}]}"#
        #expect(await post(batch).status == 204)
        #expect(await mock.receivedActivations.map(\.queueTime) == [0, 7])
        #expect(await post(batch.replacing(#""vaid":"var-c""#, with: #""vaid":"""#)).status == 400)
        #expect(await post(batch.replacing(#""cid":"b"#, with: #""cid":"z"#)).status == 400)
        #expect(await post(batch.replacing(#""qt":7"#, with: #""internal_exposure_flag":"{}""#)).status == 400)
        #expect(await mock.receivedActivations.count == 2)
    }

    @Test("the collector accepts bare hits and batches, and rejects what it can't read")
    func collects() async throws {
        let mock = try await Self.mock()
        func post(_ body: String) async -> Int {
            await mock.respond(to: MockRequest(method: "POST", path: "/", body: Array(body.utf8))).status
        }
        let event =
            #"{"t":"EVENT","cid":"bkk9glocmjcg0vtmdlng","ds":"APP","vid":"u","cuid":null,"ec":"User Engagement","ea":"fs_consent","el":"python:true","qt":5}"#
        #expect(await post(event) == 200)
        #expect(await post(#"{"t":"BATCH","cid":"bkk9glocmjcg0vtmdlng","ds":"APP","h":[\#(event),\#(event)]}"#) == 200)
        #expect(await mock.receivedHits.count == 3)
        #expect(await post(event.replacing("User Engagement", with: "User_Engagement")) == 400)
        #expect(await post(event.replacing(#""qt":5"#, with: #""qt":-5"#)) == 400)
        #expect(await post(event.replacing("EVENT", with: "NOISE")) == 400)
        let segment = #"{"t":"SEGMENT","cid":"bkk9glocmjcg0vtmdlng","ds":"APP","vid":"u","s":{"age":41}}"#
        #expect(await post(segment) == 400)
        #expect(await post(segment.replacing("41", with: #""41""#)) == 200)
        #expect(await mock.receivedHits.count == 4)
        await mock.reset()
        #expect(await mock.receivedHits.isEmpty)
    }

    @Test("a world that isn't a bucketing file changes nothing")
    func badWorlds() async throws {
        let mock = try await Self.mock()
        for text in ["", "[]", #"{"campaigns":7}"#, #"{"campaigns":[{]}"#] {
            await #expect(throws: MockWorldError.self) { try await mock.load(Data(text.utf8)) }
        }
        #expect(try await Self.campaigns(Self.ask(mock, #"{"visitor_id":"alice","trigger_hit":false}"#)).count == 1)
    }

    @Test("the state can be inspected and switched")
    func controls() async throws {
        let mock = try await Self.mock()
        func post(_ path: String, _ body: String) async -> Int? {
            await mock.control(MockRequest(method: "POST", path: path, body: Array(body.utf8)))?.status
        }
        #expect(await post("/panic", #"{"on":true}"#) == 200)
        #expect(await post("/panic", "yes") == 400)
        #expect(await post("/settings", #"{"rules":"sdk","remembers":false}"#) == 200)
        #expect(await post("/settings", #"{"rules":"mine"}"#) == 400)
        #expect(await post("/nothing", "{}") == nil)
        let settings = await mock.control(MockRequest(method: "GET", path: "/settings"))
        #expect(settings?.text.contains(#""panic":true"#) == true && settings?.text.contains(#""rules":"sdk""#) == true)
    }
}

extension MockResponse {
    fileprivate var text: String { String(decoding: body, as: UTF8.self) }
}
