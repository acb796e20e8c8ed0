import Foundation
import MockVendors
import Testing

/// Requests of the vendor's own programs, and further features of its server.
@Suite("Flagship's server side: the wire")
struct FlagshipMockWireTests {
    static let environment = "bkk9glocmjcg0vtmdlng"

    /// A file with a campaign for all users and a test for Lyon, as in the recorded run.
    static let file = """
        {"accountSettings":{"enabledXPC":true,"enabled1V1T":false,"troubleshooting":null},
         "campaigns":[
          {"id":"camp-plain","name":"Plain","slug":null,"type":"flag","bucketRanges":[{"r":[0,100]}],"variationGroups":[
            {"id":"grp-plain","name":"All","targeting":{"targetingGroups":[{"targetings":[
              {"operator":"EQUALS","key":"fs_all_users","value":""}]}]},
             "variations":[{"id":"var-plain","name":"P","allocation":100,"modifications":{"type":"FLAG","value":{"color":"red","size":7}}}]}]},
          {"id":"camp-test","name":"Test","slug":"the-test","type":"ab","bucketRanges":[{"r":[0,100]}],"variationGroups":[
            {"id":"grp-test","name":"Lyon","targeting":{"targetingGroups":[{"targetings":[
              {"operator":"EQUALS","key":"city","value":"lyon"}]}]},
             "variations":[
              {"id":"var-a","name":"A","allocation":0,"reference":true,"modifications":{"type":"FLAG","value":{"cta":"old","onlyA":1}}},
              {"id":"var-b","name":"B","allocation":60,"modifications":{"type":"FLAG","value":{"cta":"new","color":"gold"}}}]},
            {"id":"grp-rest","name":"Rest","targeting":{"targetingGroups":[{"targetings":[
              {"operator":"EQUALS","key":"city","value":"lyon"}]}]},
             "variations":[{"id":"var-rest","name":"R","allocation":100,"modifications":{"type":"FLAG","value":{"cta":"rest"}}}]}]}]}
        """

    static func mock() async throws -> FlagshipMock {
        let mock = FlagshipMock()
        try await mock.load(Data(file.utf8))
        return mock
    }

    static func ask(
        _ mock: FlagshipMock,
        _ path: String,
        _ body: String,
        query: String? = nil
    ) async -> (status: Int, text: String) {
        let response = await mock.respond(
            to: MockRequest(
                method: "POST",
                path: path,
                query: query,
                headers: [.init("x-api-key", mock.apiKey)],
                body: Array(body.utf8)
            )
        )
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    // MARK: The vendor's own programs

    @Test(
        "accepts each request of the vendor's other SDKs as their server does",
        arguments: ["python", "typescript"]
    )
    func otherSDKs(name: String) async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let url = root.appending(path: "Conformance/Fixtures/Flagship/requests-\(name).json")
        let list = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [[String: Any]])
        let mock = try await Self.mock()
        var hits = 0
        var exposures = 0
        for entry in list {
            let operation = try #require(entry["operation"] as? String)
            let headers = try #require(entry["headers"] as? [String: String])
            let json = entry["body"] as? [String: Any]
            let request = MockRequest(
                method: try #require(entry["method"] as? String),
                path: try #require(entry["path"] as? String),
                query: entry["query"] as? String,
                headers: headers.map { .init($0.key, $0.value) },
                body: try json.map { Array(try JSONSerialization.data(withJSONObject: $0)) } ?? []
            )
            #expect(mock.operation(of: request) == operation)
            let response = await mock.respond(to: request)
            #expect(
                response.status == entry["status"] as? Int,
                "\(operation): \(String(decoding: response.body, as: UTF8.self))"
            )
            if operation == "hits" { hits += (json?["h"] as? [Any])?.count ?? 1 }
            if operation == "activate" { exposures += (json?["batch"] as? [Any])?.count ?? 1 }
        }
        #expect(hits >= 8 && exposures >= 2)
        #expect(await mock.receivedHits.count == hits)
        #expect(await mock.receivedActivations.count == exposures)
    }

    @Test(
        "returns the account's settings on request, however the brackets are encoded",
        arguments: [
            ("exposeAllKeys=true&extras[]=accountSettings", true), ("extras%5B%5D=accountSettings", true),
            ("extras=accountSettings", true), ("extras[]=other", false), ("", false),
        ]
    )
    func extras(query: String, isGiven: Bool) async throws {
        let mock = try await Self.mock()
        let body = #"{"visitor_id":"ada","trigger_hit":false}"#
        let answer = await Self.ask(mock, "/v2/\(Self.environment)/campaigns", body, query: query)
        #expect(answer.text.contains(#""enabledXPC":true"#) == isGiven)
    }

    @Test("a file with excessive or negative allocations does no harm")
    func oddAllocations() async throws {
        let mock = FlagshipMock()
        let largest = "\(Int.max)"
        for allocations in [[largest, largest], ["-\(largest)", "-\(largest)"], ["-5", "200"], ["1e300", "\"x\""]] {
            let variations = allocations.map {
                #"{"id":"v","allocation":\#($0),"modifications":{"type":"FLAG","value":{}}}"#
            }
            let text =
                #"{"campaigns":[{"id":"c","bucketRanges":[{"r":[0,100]}],"variationGroups":[{"id":"g","targeting":{"targetingGroups":[{"targetings":[{"operator":"EQUALS","key":"fs_all_users","value":""}]}]},"variations":[\#(variations.joined(separator: ","))]}]}]}"#
            try await mock.load(Data(text.utf8))
            let body = #"{"visitor_id":"ada","trigger_hit":false}"#
            #expect(await Self.ask(mock, "/v2/\(Self.environment)/campaigns", body).status == 200)
        }
    }

    // MARK: Further features of the server

    @Test("the short and the full mode merge the flags of all campaigns, later ones win")
    func modes() async throws {
        let mock = try await Self.mock()
        await mock.setRules(.sdk)
        let body = #"{"visitor_id":"ada","trigger_hit":false,"context":{"fs_all_users":"","city":"lyon"}}"#
        let path = "/v2/\(Self.environment)/campaigns"
        let simple = await Self.ask(mock, path, body, query: "mode=simple").text
        let full = await Self.ask(mock, path, body, query: "mode=full").text
        let normal = await Self.ask(mock, path, body).text
        #expect(!simple.contains(#""campaigns":"#) && simple.contains(#""campaignsVariation":[{"#))
        #expect(simple.contains(#""mergedModifications":{"#) && simple.contains(#""size":7"#))
        #expect(full.contains(#""campaigns":"#) && full.contains(#""mergedModifications":{"#))
        #expect(normal.contains(#""campaigns":"#) && !normal.contains("mergedModifications"))
    }

    @Test("by the SDK's rules visitors whom one group doesn't assign go to the next, by the server's to none")
    func switchedRules() async throws {
        let mock = try await Self.mock()
        await mock.setRemembers(false)
        var leftOver = 0
        for index in 0..<40 {
            let body = #"{"visitor_id":"v-\#(index)","trigger_hit":false,"context":{"fs_all_users":"","city":"lyon"}}"#
            await mock.setRules(.server)
            let server = await Self.ask(mock, "/v2/\(Self.environment)/campaigns", body).text
            await mock.setRules(.sdk)
            let sdk = await Self.ask(mock, "/v2/\(Self.environment)/campaigns", body).text
            #expect(sdk.contains("camp-test"))
            #expect(server.contains("var-b") == sdk.contains("var-b"))
            #expect(server.contains("camp-test") == server.contains("var-b"))
            if sdk.contains("var-rest") { leftOver += 1 }
        }
        #expect((1..<40).contains(leftOver))
    }

    @Test("one campaign can be requested by id or slug, and an unknown one is rejected")
    func oneCampaign() async throws {
        let mock = try await Self.mock()
        let body = #"{"visitor_id":"ada","trigger_hit":false,"context":{"city":"lyon"}}"#
        for name in ["camp-plain", "camp-test", "the-test"] {
            let answer = await Self.ask(mock, "/v2/\(Self.environment)/campaigns/\(name)", body)
            #expect(answer.status == 204 || answer.text.hasPrefix(#"{"id":"camp-"#), "\(name): \(answer.text)")
        }
        let plain = await Self.ask(mock, "/v2/\(Self.environment)/campaigns/camp-plain", body)
        #expect(plain.status == 200 && plain.text.contains(#""size":7"#))
        #expect(await Self.ask(mock, "/v2/\(Self.environment)/campaigns/nobody", body).status == 400)
    }

    @Test("flags can be requested by key, each with its source")
    func flags() async throws {
        let mock = try await Self.mock()
        let body = #"{"visitor_id":"ada","trigger_hit":false}"#
        let answer = await Self.ask(mock, "/v2/\(Self.environment)/flags", body)
        #expect(answer.status == 200)
        #expect(answer.text.contains(#""size":{"metadata":{"campaignId":"camp-plain""#))
    }

    @Test("the self-hosted server has the same paths without the environment")
    func selfHosted() async throws {
        let mock = try await Self.mock()
        let body = #"{"visitor_id":"ada","trigger_hit":false}"#
        #expect(await Self.ask(mock, "/v2/campaigns", body, query: "extras=accountSettings").status == 200)
        #expect(await Self.ask(mock, "/v2/flags", body).status == 200)
        #expect(await Self.ask(mock, "/v2/campaigns/camp-plain", body).status == 200)
    }

    @Test("a context is recorded for users with consent, unless the request forbids it")
    func contexts() async throws {
        let mock = try await Self.mock()
        let path = "/v2/\(Self.environment)/campaigns"
        let agreed = #"{"visitor_id":"ada","trigger_hit":false,"visitor_consent":true,"context":{"city":"lyon"}}"#
        func recorded() async -> String {
            let answer = await mock.control(MockRequest(method: "GET", path: "/contexts"))
            return String(decoding: answer?.body ?? [], as: UTF8.self)
        }
        _ = await Self.ask(mock, path, agreed, query: "sendContextEvent=false")
        _ = await Self.ask(mock, path, agreed.replacing(#""visitor_consent":true"#, with: #""visitor_consent":false"#))
        #expect(await recorded() == "[]")
        _ = await Self.ask(mock, path, agreed)
        _ = await Self.ask(mock, "/v2/\(Self.environment)/events", #"{"visitorId":"ben","context":{"a":1}}"#)
        #expect(
            await recorded()
                == #"[{"anonymousId":null,"context":{"city":"lyon"},"visitorId":"ada"},{"anonymousId":null,"context":{"a":1},"visitorId":"ben"}]"#
        )
    }

    @Test("the settings alone can be fetched from the CDN")
    func settings() async throws {
        let mock = try await Self.mock()
        let get = MockRequest(method: "GET", path: "/\(Self.environment)/accountSettings.json")
        let text = String(decoding: await mock.respond(to: get).body, as: UTF8.self)
        #expect(text.hasPrefix(#"{"accountSettings":{"enabled1V1T":false"#))
    }

    static let report =
        #"{"t":"TROUBLESHOOTING","cid":"bkk9glocmjcg0vtmdlng","ds":"APP","vid":"ada","qt":0,"cv":{"version":"1","envId":"bkk9glocmjcg0vtmdlng","timestamp":"2026-11-21T11:00:00.000+0000","label":"VISITOR_SEND_HIT","stack.type":"SDK","stack.name":"iOS","stack.version":"4.0.3"}}"#

    @Test(
        "a report requires its type, its environment, and strings only",
        arguments: [
            (report, "/troubleshooting", 200), (report, "/analytics", 400),
            (report.replacing("TROUBLESHOOTING", with: "USAGE"), "/analytics", 400),
            (
                report.replacing("TROUBLESHOOTING", with: "USAGE").replacing("VISITOR_SEND_HIT", with: "SDK_CONFIG"),
                "/analytics", 200
            ),
            (report.replacing(#""cid":"b"#, with: #""cid":"z"#), "/troubleshooting", 400),
            (report.replacing(#""envId":"b"#, with: #""envId":"z"#), "/troubleshooting", 400),
            (report.replacing(#""vid":"ada""#, with: #""vid":"""#), "/troubleshooting", 400),
            (report.replacing(#""version":"1""#, with: #""version":1"#), "/troubleshooting", 400),
            (report.replacing(#""label":"VISITOR_SEND_HIT","#, with: ""), "/troubleshooting", 400),
            (report.replacing(#""qt":0"#, with: #""qt":-1"#), "/troubleshooting", 400), ("[]", "/troubleshooting", 400),
        ]
    )
    func reports(body: String, path: String, status: Int) async throws {
        let mock = try await Self.mock()
        #expect(await Self.ask(mock, path, body).status == status)
        #expect(await mock.receivedReports.count == (status == 200 ? 1 : 0))
    }
}
