import Foundation
import MockVendors
import Testing

@Suite("Scripted faults")
struct KitFaultTests {
    private func answer(under fault: Fault) async throws -> (RawClient.Answer, [JournalEntry], Int) {
        let vendor = EchoVendor()
        let server = MockServer(vendor)
        try await server.start()
        server.addFault(ScriptedFault(fault))
        let answer = await RawClient(port: server.port).get("/a")
        let journal = server.journal
        await server.stop()
        return (answer, journal, await vendor.count)
    }

    private let plain = #"{"count":1,"greeting":"hello","body":""}"#

    @Test("a status replaces the vendor's answer")
    func status() async throws {
        let (answer, journal, asked) = try await answer(under: .status(503, retryAfter: "1", body: "no"))
        #expect(answer.status == 503)
        #expect(answer.head.contains("Retry-After: 1"))
        #expect(answer.body == "no")
        #expect(asked == 0)
        #expect(journal[0].response?.status == 503)
        #expect(journal[0].fault == .status(503, retryAfter: "1", body: "no"))
    }

    @Test("a delay asks the vendor and answers late")
    func delay() async throws {
        let start = ContinuousClock.now
        let (answer, _, asked) = try await answer(under: .delay(milliseconds: 30))
        #expect(ContinuousClock.now - start >= .milliseconds(30))
        #expect(answer.body == plain)
        #expect(asked == 1)
    }

    @Test("a stall asks the vendor and never answers")
    func stall() async throws {
        let vendor = EchoVendor()
        let server = MockServer(vendor)
        try await server.start()
        server.addFault(ScriptedFault(.stall))
        async let answer = RawClient(port: server.port).get("/a")
        try await server.waitForRequests(count: 1)
        // The answer never completes, so the server is stopped, which closes the connection.
        await server.stop()
        #expect(await answer.bytes.isEmpty)
        #expect(await vendor.count == 1)
        let entry = try #require(server.journal.first)
        #expect(entry.response == nil)
        #expect(entry.bytesOut == 0)
    }

    @Test(
        "a reset doesn't ask the vendor; a reset after applying does",
        arguments: [(Fault.reset, 0), (.resetAfterApplying, 1)]
    )
    func reset(fault: Fault, expected: Int) async throws {
        let (answer, journal, asked) = try await answer(under: fault)
        #expect(answer.ending == .reset)
        #expect(answer.bytes.isEmpty)
        #expect(asked == expected)
        #expect(journal[0].response == nil)
    }

    @Test("a truncated body announces the full length and ends early")
    func truncate() async throws {
        let (answer, _, _) = try await answer(under: .truncate(after: 5))
        #expect(answer.head.contains("Content-Length: 40"))
        #expect(answer.body == String(plain.prefix(5)))
        #expect(answer.ending == .closed)
    }

    @Test("a wrong length is announced", arguments: [(7, 47), (-7, 33), (-100, 0), (Int.max, Int.max)])
    func wrongLength(by difference: Int, announced: Int) async throws {
        let (answer, _, _) = try await answer(under: .wrongLength(by: difference))
        #expect(answer.head.contains("Content-Length: \(announced)"))
        #expect(answer.ending == (difference > 0 ? .closed : .complete))
    }

    @Test("garbage isn't HTTP")
    func garbage() async throws {
        let (answer, _, asked) = try await answer(under: .garbage)
        #expect(!answer.text.hasPrefix("HTTP"))
        #expect(!answer.bytes.isEmpty)
        #expect(asked == 0)
    }

    @Test("a redirect names its target")
    func redirect() async throws {
        let (answer, _, asked) = try await answer(under: .redirect(status: 307, to: "http://127.0.0.1:1/x"))
        #expect(answer.status == 307)
        #expect(answer.head.contains("Location: http://127.0.0.1:1/x"))
        #expect(asked == 0)
    }

    @Test("a drip arrives byte by byte and is complete in the end")
    func drip() async throws {
        let (answer, _, _) = try await answer(under: .drip(millisecondsPerByte: 0))
        #expect(answer.body == plain)
    }

    @Test("a text replaces the vendor's answer")
    func body() async throws {
        let (answer, _, asked) = try await answer(under: .body("<html>", contentType: "text/html"))
        #expect(answer.status == 200)
        #expect(answer.body == "<html>")
        #expect(asked == 0)
    }

    @Test("a compression bomb is small on the wire", arguments: [1, 258, 259, 1_000, 200_000_000])
    func bomb(bytes: Int) async throws {
        let (answer, _, _) = try await answer(under: .compressedBomb(bytes: bytes))
        #expect(answer.status == 200)
        #expect(answer.head.contains("Content-Encoding: deflate"))
        #expect(answer.bytes.count < 300 + bytes / 1_000)
    }

    @Test("a script is played in order, by operation, offset and count")
    func order() async throws {
        let server = MockServer(EchoVendor())
        try await server.start()
        let client = RawClient(port: server.port)
        server.setScript([
            ScriptedFault(.status(500), on: "a", after: 1, times: 2),
            ScriptedFault(.status(404), on: "b", times: nil),
            ScriptedFault(.status(429), on: "a"),
        ])
        var seen: [Int] = []
        for path in ["/a", "/a", "/b", "/a", "/c", "/a", "/a", "/b"] { seen.append(await client.get(path).status) }
        #expect(seen == [429, 500, 404, 500, 200, 200, 200, 404])
        #expect(server.script == [ScriptedFault(.status(404), on: "b", times: nil)])
        await server.stop()
    }

    @Test("a vendor may have faults of its own, after those of the script")
    func ownFault() async throws {
        let server = MockServer(EchoVendor())
        try await server.start()
        let client = RawClient(port: server.port)
        server.addFault(ScriptedFault(.status(503)))
        #expect(await client.get("/broken").status == 503)
        #expect(await client.get("/broken").ending == .reset)
        #expect(server.journal.map(\.fault) == [.status(503), .resetAfterApplying])
        #expect(server.journal[1].response == nil)
        await server.stop()
    }

    static let faults: [Fault] = [
        .status(503, retryAfter: "1", body: "b", contentType: "text/html"), .status(204), .delay(milliseconds: 5),
        .stall,
        .reset, .resetAfterApplying, .truncate(after: 3), .wrongLength(by: -2), .garbage,
        .redirect(status: 302, to: "http://x/"), .drip(millisecondsPerByte: 1), .compressedBomb(bytes: 10),
        .body("x", contentType: "text/plain"),
    ]

    @Test("every fault survives a round trip", arguments: faults)
    func roundTrip(fault: Fault) throws {
        for scripted in [ScriptedFault(fault), ScriptedFault(fault, on: "x", after: 2, times: nil)] {
            let data = try JSONEncoder().encode(scripted)
            #expect(try JSONDecoder().decode(ScriptedFault.self, from: data) == scripted)
        }
    }
}

@Suite("The control plane")
struct KitControlTests {
    private func serving(_ body: (MockServer, RawClient) async throws -> Void) async throws {
        let server = MockServer(EchoVendor())
        try await server.start()
        try await body(server, RawClient(port: server.port))
        await server.stop()
    }

    @Test("lists the requests as JSON, without its own")
    func requests() async throws {
        try await serving { server, client in
            _ = await client.send("POST", "/events?x=1", "hi")
            let answer = await client.get("/_mock/requests")
            let list = try #require(try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [[String: Any]])
            #expect(list.count == 1)
            #expect(list[0]["method"] as? String == "POST")
            #expect(list[0]["path"] as? String == "/events")
            #expect(list[0]["query"] as? String == "x=1")
            #expect(list[0]["body"] as? String == "hi")
            #expect(list[0]["status"] as? Int == 200)
            #expect(list[0]["operation"] as? String == "events")
            #expect(list[0]["number"] as? Int == 1)
            #expect(list[0]["connection"] as? Int == 1)
            #expect(list[0]["bytesIn"] as? Int == 67)
            #expect((list[0]["headers"] as? [[String: String]])?.first == ["name": "Host", "value": "127.0.0.1"])
        }
    }

    @Test("accepts a script, returns it, and removes it on a reset")
    func script() async throws {
        try await serving { server, client in
            let text = #"[{"on":"a","times":2,"fault":{"kind":"status","status":503,"retryAfter":"1"}}]"#
            #expect(await client.send("POST", "/_mock/script", text).status == 204)
            #expect(server.script == [ScriptedFault(.status(503, retryAfter: "1"), on: "a", times: 2)])
            #expect(await client.get("/a").status == 503)
            let left = #"[{"fault":{"kind":"status","retryAfter":"1","status":503},"on":"a","times":1}]"#
            #expect(await client.get("/_mock/script").body == left)
            #expect(await client.send("POST", "/_mock/reset", "").status == 204)
            #expect(server.script.isEmpty)
            #expect(server.journal.isEmpty)
            #expect(await client.get("/_mock/count").body == #"{"count":0}"#)
        }
    }

    @Test(
        "rejects an invalid script by its key, and keeps the old one",
        arguments: [
            (#"[{"fault":{"kind":"explode"}}]"#, #"[0].fault.kind: no fault of the kind"#),
            (#"[{"fault":{"kind":"stall"}},{"fault":{"kind":"status"}}]"#, #"[1].fault: \"status\" is missing"#),
            (#"[{"fault":{"kind":"status","status":99}}]"#, "[0].fault.status: 99 is not from 100 to 599"),
            (#"[{"fault":{"kind":"stall","until":3}}]"#, "[0].fault.until: no such key"),
            (#"[{"fault":{"kind":"stall"},"often":3}]"#, "[0].often: no such key"),
            (#"[{"fault":{"kind":"stall"},"times":0}]"#, "[0].times: 0 is not from 1"),
            (#"[{"times":1}]"#, #"[0]: \"fault\" is missing"#),
            (#"{"#, "the document"),
        ]
    )
    func badScript(text: String, reason: String) async throws {
        try await serving { server, client in
            server.addFault(ScriptedFault(.status(418), on: "teapot"))
            let answer = await client.send("POST", "/_mock/script", text)
            #expect(answer.status == 400)
            #expect(answer.body.contains(reason), "\(answer.body)")
            #expect(server.script.count == 1)
        }
    }

    @Test("forgets the exchanges on request, and keeps the script and what the vendor has counted")
    func forgetting() async throws {
        try await serving { server, client in
            _ = await client.get("/a")
            server.addFault(ScriptedFault(.status(503), on: "other"))
            let answer = await client.send("DELETE", "/_mock/requests", "")
            #expect(answer.status == 204)
            #expect(server.journal.isEmpty && server.journalCount == 0 && server.script.count == 1)
            #expect(await client.get("/_mock/requests").body == "[]")
            #expect(await client.get("/_mock/count").body == #"{"count":1}"#)
        }
    }

    @Test("passes a world to the vendor, and its rejection back")
    func world() async throws {
        try await serving { _, client in
            #expect(await client.send("PUT", "/_mock/world", "bonjour").status == 204)
            #expect(await client.get("/a").body.contains("bonjour"))
            let refused = await client.send("PUT", "/_mock/world", "")
            #expect(refused.status == 400)
            #expect(refused.body == #"{"error":"world: empty"}"#)
        }
    }

    @Test("passes other paths to the vendor, and says what doesn't exist")
    func rest() async throws {
        try await serving { _, client in
            #expect(await client.get("/_mock/count").body == #"{"count":0}"#)
            #expect(await client.get("/_mock/nothing").status == 404)
            #expect(await client.get("/_mock").status == 404)
            #expect(await client.send("PUT", "/_mock/requests", "").status == 405)
            #expect(await client.get("/_mocked").body.contains("count"))
        }
    }
}
