import Foundation
import Testing

@testable import MockVendors

/// Requests as a client writes them.
enum EvergageRequest {
    static func json(_ text: String, dataset: String = "engage", headers: [(String, String)] = []) -> MockRequest {
        MockRequest(
            method: "POST",
            path: "/api2/event/\(dataset)",
            headers: [.init("Content-Type", "application/json; charset=utf-8")] + headers.map { .init($0.0, $0.1) },
            body: Array(text.utf8)
        )
    }

    static func get(_ query: String) -> MockRequest {
        MockRequest(method: "GET", path: "/api2/event/engage", query: query)
    }

    static func form(_ body: String) -> MockRequest {
        MockRequest(
            method: "POST",
            path: "/api2/event/engage",
            headers: [.init("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(body.utf8)
        )
    }

    static func authenticated(_ text: String, credentials: String?) -> MockRequest {
        var request = json(text)
        request.path = "/api2/authevent/engage"
        if let credentials {
            request.headers.append(.init("Authorization", "Basic \(Data(credentials.utf8).base64EncodedString())"))
        }
        return request
    }
}

@Suite("The Evergage mock")
struct EvergageMockTests {
    static let home = #"{"action":"Home","user":{"anonId":"a1","id":"u1"},"source":{"channel":"MobileApp"}}"#
    static let hero = """
        {"campaigns":[{"campaignId":"c1","experienceId":"x1","target":"hero","data":{"text":"hi"},"actions":["Home"]}]}
        """

    static func vendor(_ world: String? = nil) async throws -> EvergageMock {
        let vendor = EvergageMock(now: { 1_760_000_000_000 })
        if let world { try await vendor.load(Data(world.utf8)) }
        return vendor
    }

    static func user(_ key: String, _ vendor: EvergageMock) async -> EvergageJSON? {
        let response = await vendor.control(MockRequest(method: "GET", path: "/users/\(key)"))
        return response.flatMap { $0.status == 200 ? EvergageJSON(parsing: $0.body) : nil }
    }

    @Test(
        "a named user without an encrypted id is error code 1 where one is required; an empty one always is, a wrong one 2"
    )
    func encryptedIDs() async throws {
        let plain = #"{"action":"A","user":{"id":"u1"}}"#
        let anonymous = #"{"action":"A","user":{"anonId":"a1"}}"#
        let good = #"{"action":"A","user":{"encryptedId":"\#(Data("enc:u1".utf8).base64EncodedString())"}}"#
        let lax = try await Self.vendor()
        let strict = try await Self.vendor(#"{"options":{"encryptedIds":true}}"#)
        for (text, codes) in [
            (plain, [0, 1]), (anonymous, [0, 0]), (good, [0, 0]),
            (#"{"action":"A","user":{"anonId":"a1","encryptedId":""}}"#, [1, 1]),
            (#"{"action":"A","user":{"anonId":"a1","encryptedId":null}}"#, [1, 1]),
            (#"{"action":"A","user":{"anonId":"a1","encryptedId":"%%"}}"#, [2, 2]),
        ] {
            for (vendor, code) in zip([lax, strict], codes) {
                #expect(await Self.send(text, to: vendor)?["errorCode"] == .number(Double(code)), "\(text)")
            }
        }
        #expect(await strict.received.map(\.isTaken) == [false, true, true, false, false, false])
    }

    @Test("the vendor's own faults apply to what they match: a status, an error code, a body, a lost connection")
    func ownFaults() async throws {
        let vendor = try await Self.vendor()
        let server = MockServer(vendor)
        try await server.start()
        let client = RawClient(port: server.port)
        func put(_ faults: String) async -> Int {
            let request = MockRequest(method: "PUT", path: "/faults", body: Array(faults.utf8))
            return await vendor.control(request)?.status ?? 0
        }
        #expect(
            await put(
                #"""
                [{"match":"/api2/event","status":503,"retryAfter":7},{"match":"/api2/event","dropConnection":true},
                 {"match":"/api2/event","rawBody":"<html>"},{"match":"/api2/event","times":2,"errorCode":3}]
                """#
            ) == 200
        )
        func get() async -> RawClient.Answer {
            await client.get("/api2/event/engage?event=\(Data(Self.home.utf8).base64EncodedString())")
        }
        let refused = await get()
        #expect(refused.status == 503 && refused.head.contains("Retry-After: 7"))
        #expect(await get().status == 0)
        #expect(await get().body == "<html>")
        for _ in 0..<2 { #expect(await get().body.contains(#""errorCode":3"#)) }
        #expect(await vendor.received.isEmpty, "what a fault befell was taken")
        #expect(await get().body.contains(#""errorCode":0"#))
        #expect(await vendor.received.count == 1)
        for bad in ["{}", "[1]", "nonsense"] { #expect(await put(bad) == 400) }
        await server.stop()
    }

    static func send(_ text: String, to vendor: EvergageMock) async -> EvergageJSON? {
        EvergageJSON(parsing: await vendor.respond(to: EvergageRequest.json(text)).body)
    }

    static func cart(_ key: String, _ vendor: EvergageMock) async -> [String: Double] {
        var lines: [String: Double] = [:]
        for line in await user(key, vendor)?["cart"]?.array ?? [] {
            lines[line["_id"]?.string ?? "?"] = line["quantity"]?.number
        }
        return lines
    }

    @Test(
        "V89 a GET carries Base64 with and without padding, URL-safe, and with spaces that were pluses",
        arguments: [
            { $0 },
            { $0.replacing("=", with: "") },
            { $0.replacing("+", with: "-").replacing("/", with: "_") },
            { $0.replacing("+", with: " ") },
        ] as [@Sendable (String) -> String]
    )
    func get(spelling: @Sendable (String) -> String) async throws {
        let vendor = try await Self.vendor()
        // The question marks and tildes produce pluses and slashes in Base64.
        let event = #"{"action":"Home??>~~ÿ","user":{"anonId":"a1"}}"#
        let base64 = spelling(Data(event.utf8).base64EncodedString())
        let query = base64.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let response = await vendor.respond(to: EvergageRequest.get("event=\(query)"))
        #expect(response.status == 200)
        #expect(await vendor.received.map(\.action) == ["Home??>~~ÿ"])
    }

    @Test("V90 a form's event is plain JSON or Base64")
    func form() async throws {
        let vendor = try await Self.vendor()
        let plain = Self.home.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let base64 =
            Data(Self.home.utf8).base64EncodedString().addingPercentEncoding(withAllowedCharacters: .alphanumerics)
            ?? ""
        #expect(await vendor.respond(to: EvergageRequest.form("event=\(plain)")).status == 200)
        #expect(await vendor.respond(to: EvergageRequest.form("event=\(base64)")).status == 200)
        #expect(await vendor.received.map(\.action) == ["Home", "Home"])
    }

    @Test("V91 broken Base64 is 400, an empty event 200, both with error code 5")
    func undecodable() async throws {
        let vendor = try await Self.vendor()
        for request in [
            EvergageRequest.get("event=%25%25"), EvergageRequest.get("other=1"), EvergageRequest.json("{\"action\":"),
            EvergageRequest.json("[1]"), EvergageRequest.form("nothing=1"),
        ] {
            let response = await vendor.respond(to: request)
            #expect(response.status == 400)
            #expect(EvergageJSON(parsing: response.body) == ["campaignResponses": [], "errorCode": 5])
        }
        let empty = await vendor.respond(to: EvergageRequest.json("{}"))
        #expect(empty.status == 200)
        #expect(EvergageJSON(parsing: empty.body) == ["campaignResponses": [], "errorCode": 5])
    }

    @Test("V92 the authenticated route requires a key, a permission, and the channel Server for campaigns")
    func authenticated() async throws {
        let world = """
            {"keys":[{"key":"k","secret":"s"},{"key":"weak","secret":"s","canSendEvents":false}],
             "campaigns":[{"campaignId":"c1","experienceId":"x1","target":"hero","actions":["Home"]}]}
            """
        let vendor = try await Self.vendor(world)
        for credentials in [nil, "k:wrong", "k"] as [String?] {
            let refused = await vendor.respond(to: EvergageRequest.authenticated(Self.home, credentials: credentials))
            #expect(refused.status == 401)
            #expect(refused.headers.contains { $0.name == "WWW-Authenticate" && $0.value.hasPrefix("Basic") })
        }
        #expect(
            await vendor.respond(to: EvergageRequest.authenticated(Self.home, credentials: "weak:s")).status == 403
        )
        let web = await vendor.respond(to: EvergageRequest.authenticated(Self.home, credentials: "k:s"))
        #expect(web.status == 200)
        #expect(EvergageJSON(parsing: web.body)?["campaignResponses"] == [])
        let fromServer = Self.home.replacing("MobileApp", with: "Server")
        let server = await vendor.respond(to: EvergageRequest.authenticated(fromServer, credentials: "k:s"))
        #expect(EvergageJSON(parsing: server.body)?["campaignResponses"]?.array?.count == 1)
        var misnamed = EvergageRequest.authenticated(fromServer, credentials: nil)
        misnamed.headers.append(.init("Authentication", "Basic \(Data("k:s".utf8).base64EncodedString())"))
        #expect(await vendor.respond(to: misnamed).status == 401)
    }

    @Test("V93 doNotTrack stores nothing; noCampaigns stores state but returns no campaigns")
    func flags() async throws {
        let vendor = try await Self.vendor(Self.hero)
        let plain = await Self.send(Self.home, to: vendor)
        #expect(plain?["campaignResponses"]?.array?.count == 1)
        let untracked = await Self.send(
            #"{"action":"Home","user":{"id":"u2"},"flags":{"doNotTrack":true}}"#,
            to: vendor
        )
        #expect(untracked == ["campaignResponses": [], "errorCode": 0])
        #expect(await Self.user("u2", vendor) == nil)
        let quiet = await Self.send(
            #"{"action":"Home","user":{"id":"u3"},"flags":{"noCampaigns":true}}"#,
            to: vendor
        )
        #expect(quiet?["campaignResponses"] == [])
        #expect(await Self.user("u3", vendor)?["actions"] == ["Home"])
    }

    @Test("V94 an anonymous cart belongs to the named user once both ids come together; the named user's cart wins")
    func merging() async throws {
        let vendor = try await Self.vendor()
        for (id, quantity) in [("sku-1", 1), ("sku-2", 2)] {
            _ = await Self.send(
                """
                {"action":"Add","itemAction":"Add To Cart","user":{"anonId":"a1","attributes":{"tier":"none","hat":"yes"}},
                 "cart":{"singleLine":{"Product":{"_id":"\(id)","quantity":\(quantity),"price":10}}}}
                """,
                to: vendor
            )
        }
        _ = await Self.send(#"{"action":"Home","user":{"id":"u1","attributes":{"tier":"gold"}}}"#, to: vendor)
        _ = await Self.send(Self.home, to: vendor)
        #expect(await Self.cart("u1", vendor) == ["sku-1": 1, "sku-2": 2])
        #expect(await Self.user("u1", vendor)?["attributes"] == ["tier": "gold", "hat": "yes"])
        #expect(await Self.user("a1", vendor) == nil)
    }

    @Test("V95 an experience named in testMessages is returned although no rule matches; \"true\" requires the rule")
    func testMessages() async throws {
        let world = """
            {"campaigns":[{"campaignId":"c1","experienceId":"x1","target":"hero","actions":["Other"],"state":"Testing"},
                          {"campaignId":"c2","experienceId":"x2","target":"hero","actions":["Home"],"state":"Testing"}]}
            """
        let vendor = try await Self.vendor(world)
        func ids(_ test: String?) async -> [String] {
            let debug = test.map { #","debug":{"testMessages":"\#($0)"}"# } ?? ""
            let body = await Self.send(#"{"action":"Home","user":{"id":"u1"}\#(debug)}"#, to: vendor)
            return body?["campaignResponses"]?.array?.compactMap { $0["experienceId"]?.string } ?? []
        }
        #expect(await ids(nil) == [])
        #expect(await ids("x1") == ["x1"])
        #expect(await ids("x1,x2") == ["x1", "x2"])
        #expect(await ids("true") == ["x2"])
        _ = await vendor.control(
            MockRequest(method: "PUT", path: "/options", body: Array(#"{"strictTestAuth":true}"#.utf8))
        )
        #expect(await ids("x1") == [])
    }

    @Test("V96 an unknown itemAction is a plain action next to an action, and ignored by itself")
    func unknownItemAction() async throws {
        let vendor = try await Self.vendor()
        let cart = #""cart":{"complete":{"Product":[{"_id":"sku-1","quantity":1}]}}"#
        let kept = await Self.send(
            #"{"action":"Look","itemAction":"ViewCart","user":{"id":"u1"},\#(cart)}"#,
            to: vendor
        )
        #expect(kept?["errorCode"] == 0)
        #expect(await Self.cart("u1", vendor) == [:])
        let invalid = await Self.send(#"{"itemAction":"ViewCart","user":{"id":"u1"},\#(cart)}"#, to: vendor)
        #expect(invalid?["errorCode"] == 5)
    }

    @Test("V97 an interaction that replaces the cart acts as View Cart does")
    func interaction() async throws {
        let vendor = try await Self.vendor()
        _ = await Self.send(
            """
            {"action":"View Cart","itemAction":"View Cart","user":{"id":"old"},"cart":{"complete":{"Product":[
             {"_id":"a","quantity":1,"price":5},{"_id":"b","quantity":2,"price":7}]}}}
            """,
            to: vendor
        )
        _ = await Self.send(
            """
            {"interaction":{"name":"Replace Cart","lineItems":[
             {"catalogObjectType":"Product","catalogObjectId":"a","quantity":1,"price":5},
             {"catalogObjectType":"Product","catalogObjectId":"b","quantity":2,"price":7}]},
             "user":{"identities":{"userId":"new"}}}
            """,
            to: vendor
        )
        let old = await Self.user("old", vendor)?["cart"]
        #expect(old?.array?.count == 2)
        #expect(await Self.user("new", vendor)?["cart"] == old)
    }

    @Test("V98 an unknown data set is 404, another method 405, a large body 413")
    func refused() async throws {
        let vendor = try await Self.vendor()
        #expect(await vendor.respond(to: EvergageRequest.json(Self.home, dataset: "nowhere")).status == 404)
        #expect(await vendor.respond(to: MockRequest(method: "DELETE", path: "/api2/event/engage")).status == 405)
        let large = #"{"action":"\#(String(repeating: "x", count: 2 << 20))","user":{"id":"u1"}}"#
        #expect(await vendor.respond(to: EvergageRequest.json(large)).status == 413)
        #expect(await vendor.respond(to: MockRequest(method: "GET", path: "/event=e30")).status == 404)
    }
}

@Suite("The Evergage mock's state")
struct EvergageMockStateTests {
    typealias Mock = EvergageMockTests

    static func line(_ action: String, _ id: String, _ quantity: String, user: String = "u1") -> String {
        """
        {"action":"\(action)","itemAction":"\(action)","user":{"id":"\(user)"},
         "cart":{"singleLine":{"Product":{"_id":"\(id)","quantity":\(quantity),"price":10}}}}
        """
    }

    @Test("lines are added up, removed, overwritten, and end at zero")
    func cart() async throws {
        let vendor = try await Mock.vendor()
        _ = await Mock.send(Self.line("Add To Cart", "a", "2"), to: vendor)
        _ = await Mock.send(Self.line("Add To Cart", "a", "2"), to: vendor)
        #expect(await Mock.cart("u1", vendor) == ["a": 4])
        _ = await Mock.send(Self.line("Remove From Cart", "a", "1"), to: vendor)
        _ = await Mock.send(Self.line("Remove From Cart", "unknown", "1"), to: vendor)
        #expect(await Mock.cart("u1", vendor) == ["a": 3])
        _ = await Mock.send(Self.line("Update Line Item", "a", "7"), to: vendor)
        #expect(await Mock.cart("u1", vendor) == ["a": 7])
        _ = await Mock.send(Self.line("Remove From Cart", "a", "9"), to: vendor)
        #expect(await Mock.cart("u1", vendor) == [:])
    }

    @Test("an order counts once by its id, buys the cart if it has no lines, and empties it")
    func orders() async throws {
        let vendor = try await Mock.vendor()
        func buy(_ order: String) async {
            _ = await Mock.send(
                #"{"action":"Purchase","itemAction":"Purchase","user":{"id":"u1"},"order":{"Product":\#(order)}}"#,
                to: vendor
            )
        }
        await buy("{}")
        #expect(await Mock.user("u1", vendor)?["orders"] == [])
        _ = await Mock.send(Self.line("Add To Cart", "a", "2"), to: vendor)
        await buy(#"{"orderId":"A-1"}"#)
        _ = await Mock.send(Self.line("Add To Cart", "b", "1"), to: vendor)
        await buy(#"{"orderId":"A-1","totalValue":99}"#)
        #expect(await Mock.cart("u1", vendor) == ["b": 1])
        await buy(#"{"totalValue":10,"currency":"EUR","lineItems":[{"_id":"c","quantity":5,"price":10}]}"#)
        let expected: EvergageJSON = [
            [
                "orderId": "A-1", "totalValue": 20, "currency": "USD",
                "lineItems": [["_id": "a", "quantity": 2, "price": 10]],
            ],
            [
                "orderId": .null, "totalValue": 10, "currency": "EUR",
                "lineItems": [["_id": "c", "quantity": 5, "price": 10]],
            ],
        ]
        #expect(await Mock.user("u1", vendor)?["orders"] == expected)
        #expect(await Mock.cart("u1", vendor) == [:])
    }

    @Test("an event id is processed once")
    func deduplication() async throws {
        let vendor = try await Mock.vendor(Mock.hero)
        let request = EvergageRequest.json(Mock.home, headers: [("X-Event-Id", "e1")])
        let first = await vendor.respond(to: request)
        let second = await vendor.respond(to: request)
        #expect(EvergageJSON(parsing: first.body)?["campaignResponses"]?.array?.count == 1)
        #expect(EvergageJSON(parsing: second.body) == ["campaignResponses": [], "errorCode": 0])
        #expect(await vendor.received.map(\.isRepetition) == [false, true])
        #expect(await Mock.user("u1", vendor)?["actions"] == ["Home"])
    }

    @Test("view time is accepted in a query or a form, by code or name, and is added up")
    func ping() async throws {
        let vendor = try await Mock.vendor()
        func ping(_ method: String, _ item: String, top: String = "2000") async -> String {
            let encoded = item.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            let parameters = "_ak=acme&_ds=engage&.top=\(top)&action=View%20Item&item=\(encoded)&.anonId=a1&_r=123456"
            return await vendor.respond(
                to: MockRequest(
                    method: method,
                    path: "/pr",
                    query: method == "GET" ? parameters : nil,
                    body: method == "GET" ? [] : Array(parameters.utf8)
                )
            ).text
        }
        #expect(await ping("GET", #"{"type":"Product","_id":"a"}"#) == #"{"status":"OK"}"#)
        #expect(await ping("POST", #"{"type":"p","_id":"a"}"#) == #"{"status":"OK"}"#)
        #expect(await ping("GET", #"{"type":"Product","_id":"a"}"#, top: "60001") == #"{"status":"Error"}"#)
        #expect(await ping("GET", "{}") == #"{"status":"Error"}"#)
        #expect(await Mock.user("a1", vendor)?["viewTimeMillis"] == ["Product/a": 4000])
    }

    @Test("the beacon endpoint accepts statistics by letter")
    func receiver() async throws {
        let vendor = try await Mock.vendor()
        let stats =
            #"[{"type":"e","id":"x1","stat":"i","ug":"Control"},{"type":"e","id":"x1","stat":"c"},{"stat":"?"}]"#
        let encoded = stats.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let response = await vendor.respond(
            to: MockRequest(method: "POST", path: "/msreceiver", query: "_ak=a&_ds=engage&userId=u1&.cStat=\(encoded)")
        )
        #expect(response == MockResponse(status: 200))
        let expected: EvergageJSON = [
            ["experienceId": "x1", "stat": "Impression", "control": true],
            ["experienceId": "x1", "stat": "Click", "control": false],
        ]
        #expect(await Mock.user("u1", vendor)?["stats"] == expected)
    }

    @Test("attributes are kept, null deletes them, and the account has its own")
    func attributes() async throws {
        let vendor = try await Mock.vendor()
        _ = await Mock.send(#"{"user":{"id":"u1","attributes":{"a":"1","b":"2"}}}"#, to: vendor)
        _ = await Mock.send(
            #"{"action":"x","user":{"id":"u1","attributes":{"a":null}},"account":{"id":"acc","attributes":{"size":"9"}}}"#,
            to: vendor
        )
        let user = await Mock.user("u1", vendor)
        #expect(user?["attributes"] == ["b": "2"])
        #expect(user?["accountAttributes"] == ["size": "9"])
        #expect(user?["accountId"] == "acc")
    }

    @Test("a visit ends after half an hour; a non-interactive event starts none")
    func visits() async throws {
        let vendor = try await Mock.vendor()
        for (time, flags) in [(0, ""), (29, ""), (60, ""), (200, #","flags":{"nonInteractive":true}"#)] {
            _ = await Mock.send(
                #"{"action":"x","user":{"id":"u1"},"source":{"time":\#(time * 60_000)}\#(flags)}"#,
                to: vendor
            )
        }
        #expect(await Mock.user("u1", vendor)?["visits"] == 2)
    }

    @Test("the control group is chosen by CRC-32 and is visible; rules match channel, application, zone and user")
    func rules() async throws {
        #expect(EvergageCampaign.crc32("123456789".utf8) == 0xCBF4_3926)
        let world = """
            {"campaigns":[
              {"campaignId":"c1","experienceId":"x1","target":"a","controlPercent":100},
              {"campaignId":"c2","experienceId":"x2","target":"a","controlPercent":0,"shape":"payload","data":{"k":1}},
              {"campaignId":"c3","experienceId":"x3","target":"a","channel":"mobileapp","applications":["app"]},
              {"campaignId":"c4","experienceId":"x4","target":"a","userIds":["somebody"]},
              {"campaignId":"c5","experienceId":"x5","target":"a","channel":"Web"},
              {"campaignId":"c6","experienceId":"x6","target":"a","contentZones":["hero","home"]},
              {"campaignId":"c7","experienceId":"x7","target":"a","contentZones":["cart"]}]}
            """
        let vendor = try await Mock.vendor(world)
        let body = await Mock.send(
            """
            {"action":"x","user":{"id":"u1"},
             "source":{"channel":"MobileApp","application":"app","contentZones":["home"]}}
            """,
            to: vendor
        )
        let responses = body?["campaignResponses"]?.array ?? []
        #expect(responses.compactMap { $0["campaignId"]?.string } == ["c1", "c2", "c3", "c6"])
        #expect(responses.compactMap { $0["userGroup"]?.string } == ["Control", "Default", "Default", "Default"])
        #expect(
            responses[1]["payload"]
                == ["k": 1, "campaign": "c2", "experience": "x2", "userGroup": "Default", "contentZone": "a"]
        )
    }

    @Test("compressed bodies are read, and broken ones rejected")
    func compression() async throws {
        let vendor = try await Mock.vendor()
        // `{"action":"Zipped","user":{"id":"u1"}}`, by gzip -9.
        let zipped = Data(
            base64Encoded: "H4sIAAAAAAACA6tWSkwuyczPU7JSisosKEhNUdJRKi1OLVKyqlbKTAGKlhoq1dYCAK7+/RMmAAAA"
        )
        var request = EvergageRequest.json("")
        request.headers.append(.init("Content-Encoding", "gzip"))
        request.body = Array(try #require(zipped))
        #expect(await vendor.respond(to: request).status == 200)
        #expect(await vendor.received.map(\.action) == ["Zipped"])
        request.body = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
        #expect(await vendor.respond(to: request).status == 400)
    }

    @Test("a compressed body is read from a socket as well, and an encoding that the vendor doesn't know is refused")
    func compressionOnTheWire() async throws {
        let server = MockServer(try await Mock.vendor())
        try await server.start()
        let zipped = try #require(
            Data(
                base64Encoded: "H4sIAAAAAAACA6tWSkwuyczPU7JSisosKEhNUdJRKi1OLVKyqlbKTAGKlhoq1dYCAK7+/RMmAAAA"
            )
        )
        func send(_ encoding: String) async -> RawClient.Answer {
            let head = "POST /api2/event/engage HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            return await RawClient(port: server.port).send(
                bytes: Array("\(head)Content-Encoding: \(encoding)\r\nContent-Length: \(zipped.count)\r\n\r\n".utf8)
                    + zipped
            )
        }
        #expect(await send("gzip").status == 200)
        #expect(await send("GZIP").status == 200)
        #expect(await send("br").status == 415)
        #expect(await send("gzip, gzip").status == 415)
        #expect(server.journal.map { $0.response?.status } == [200, 200])
        await server.stop()
    }

    @Test(
        "an invalid world is rejected with its position, and changes nothing",
        arguments: [
            ("", "the world: not JSON"),
            ("[]", "the world: expected a JSON object"),
            (
                #"{"campaign":[]}"#,
                "campaign: unknown; known are datasets, keys, options, applications, campaigns, attributes"
            ),
            (#"{"campaigns":[{"campaignId":"c"}]}"#, "campaigns[0].experienceId: expected a text"),
            (
                #"{"campaigns":[{"campaignId":"c","experienceId":"x","controlPercent":101}]}"#,
                "campaigns[0].controlPercent: expected a whole number from 0 to 100"
            ),
            (#"{"options":{"busy":1}}"#, "options.busy: unknown, or not of its type"),
        ]
    )
    func badWorlds(world: String, message: String) async throws {
        let vendor = try await Mock.vendor(Mock.hero)
        await #expect { try await vendor.load(Data(world.utf8)) } throws: { "\($0)" == message }
        #expect(await Mock.send(Mock.home, to: vendor)?["campaignResponses"]?.array?.count == 1)
    }

    @Test("an unknown application has no configuration; without a list every one has")
    func configuration() async throws {
        let vendor = try await Mock.vendor()
        func config(_ application: String) async -> MockResponse {
            await vendor.respond(to: MockRequest(method: "GET", path: "/mobile/config/engage/\(application).json"))
        }
        #expect(await config("any").text == #"{"enabled":true}"#)
        await vendor.setEnabled(false, application: "com.acme.shop")
        #expect(await config("com.acme.shop").text == #"{"enabled":false}"#)
        #expect(await config("any").status == 404)
    }
}

extension MockResponse {
    fileprivate var text: String { String(decoding: body, as: UTF8.self) }
}
