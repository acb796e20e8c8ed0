import Foundation
import Testing

@testable import MockVendors

@Suite("The mock Evergage is as strict as the vendor")
struct EvergageMockStrictnessTests {
    private typealias Mock = EvergageMockTests

    private static func experiences(_ answer: EvergageJSON?) -> [String] {
        answer?["campaignResponses"]?.array?.compactMap { $0["experienceId"]?.string } ?? []
    }

    private static let channels = """
        "campaigns":[{"campaignId":"c1","experienceId":"any","target":"t","actions":["Home"]},
                     {"campaignId":"c2","experienceId":"mobile","target":"t","actions":["Home"],"channel":"MobileApp"},
                     {"campaignId":"c3","experienceId":"server","target":"t","actions":["Home"],"channel":"Server"}]
        """

    @Test(
        "campaigns for the channel Server answer only the authenticated route, and others their own channel",
        arguments: [
            ("MobileApp", false, ["any", "mobile"], ["mobile"]), ("Web", false, ["any"], []),
            // An application that calls itself a server doesn't count as one.
            ("Server", false, ["any"], []), ("server", false, ["any"], []),
            ("Server", true, ["any", "server"], ["any", "server"]),
        ]
    )
    func channels(channel: String, isAuthenticated: Bool, lenient: [String], strict: [String]) async throws {
        let text = #"{"action":"Home","user":{"id":"u1"},"source":{"channel":"\#(channel)"}}"#
        for (options, expected) in [("", lenient), (#""options":{"strictChannels":true},"#, strict)] {
            let vendor = try await Mock.vendor("{\(options)\(Self.channels)}")
            let request =
                isAuthenticated
                ? EvergageRequest.authenticated(text, credentials: "mock-key:mock-secret") : EvergageRequest.json(text)
            let answer = EvergageJSON(parsing: await vendor.respond(to: request).body)
            #expect(Self.experiences(answer) == expected, "\(options)")
        }
    }

    @Test("attributes that a data set doesn't declare are left out and reported")
    func attributes() async throws {
        let event = """
            {"action":"A","user":{"id":"u1","attributes":{"plan":"pro","shoe":"9"}},
             "account":{"id":"a1","attributes":{"size":"5","town":"Kiel"}}}
            """
        let open = try await Mock.vendor()
        _ = await Mock.send(event, to: open)
        #expect(await Mock.user("u1", open)?["attributes"] == ["plan": "pro", "shoe": "9"])
        let vendor = try await Mock.vendor(#"{"attributes":{"user":["plan"],"account":["size"]}}"#)
        #expect(await Mock.send(event, to: vendor)?["errorCode"] == 0)
        let user = await Mock.user("u1", vendor)
        #expect(user?["attributes"] == ["plan": "pro"] && user?["accountAttributes"] == ["size": "5"])
        #expect(user?["undeclaredAttributes"] == ["account.town", "user.shoe"])
    }

    @Test(
        "an item action requires its item, line, cart or order",
        arguments: [
            ("View Item", #""catalog":{"Product":{"_id":"s"}}"#),
            ("View Item Detail", #""catalog":{"Blog":{"_id":"s"}}"#),
            ("View Category", #""catalog":{"Category":{"_id":"s"}}"#),
            ("View Tag", #""catalog":{"Brand":{"_id":"s"}}"#),
            ("Review", #""catalog":{"Product":{"_id":"s"}}"#), ("Share", #""catalog":{"Product":{"_id":"s"}}"#),
            ("Comment", #""catalog":{"Product":{"_id":"s"}}"#), ("Favorite", #""catalog":{"Product":{"_id":"s"}}"#),
            ("Add To Cart", #""cart":{"singleLine":{"Product":{"_id":"s","quantity":1}}}"#),
            ("Remove From Cart", #""cart":{"singleLine":{"Product":{"_id":"s","quantity":1}}}"#),
            ("View Cart", #""cart":{"complete":{"Product":[]}}"#),
            ("Purchase", #""order":{"Product":{"orderId":"1"}}"#),
        ]
    )
    func items(action: String, item: String) async throws {
        let vendor = try await Mock.vendor()
        let lenient = try await Mock.vendor(#"{"options":{"strictItems":false}}"#)
        func event(_ rest: String) -> String {
            #"{"action":"\#(action)","itemAction":"\#(action)","user":{"id":"u1"}\#(rest)}"#
        }
        #expect(await Mock.send(event(",\(item)"), to: vendor)?["errorCode"] == 0)
        for rest in ["", #","catalog":{}"#, #","catalog":{"Product":{"name":"without an id"}}"#] {
            #expect(await Mock.send(event(rest), to: vendor)?["errorCode"] == 5, "\(rest)")
            #expect(await Mock.send(event(rest), to: lenient)?["errorCode"] == 0)
        }
        #expect(await vendor.received.map(\.isTaken) == [true, false, false, false])
    }

    @Test(
        "other actions require no item",
        arguments: ["Search", "View Bandit Items", "Click Through"]
    )
    func plain(action: String) async throws {
        let vendor = try await Mock.vendor()
        let event = #"{"action":"\#(action)","itemAction":"\#(action)","user":{"id":"u1"}}"#
        #expect(await Mock.send(event, to: vendor)?["errorCode"] == 0)
    }
}
