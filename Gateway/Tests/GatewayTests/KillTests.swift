import AdapterKit
import Experimentation
import Foundation
import Testing

@testable import GatewayServer

@Suite("The program")
struct KillTests {
    /// A configuration whose vendor takes nothing, so that what was accepted stays where it can be counted.
    private static func configuration(in folder: URL) throws -> String {
        let vendor = #"""
            {"vendor":"flagship","environmentID":"bkk9glocmjcg0vtmdlng","apiKey":"key","mode":"bucketing",
             "endpoints":{"decision":"http://127.0.0.1:9/","cdn":"http://127.0.0.1:9/","events":"http://127.0.0.1:9/"}}
            """#
        let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
        let gateway = #"""
            {"http":{"port":0},"operators":{"tokens":["\#(digest)"]},
             "tenants":{"shop":{"vendor":"vendor.json","store":"shop.sqlite","tokens":["\#(digest)"]}}}
            """#
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(vendor.utf8).write(to: folder.appendingPathComponent("vendor.json"))
        try Data(gateway.utf8).write(to: folder.appendingPathComponent("gateway.json"))
        return folder.appendingPathComponent("gateway.json").path
    }

    private static func wire(_ child: Child) throws -> Wire {
        let url = try #require(try JSON.parse(child.head).objectValue?["url"]?.stringValue)
        return Wire(port: try #require(url.split(separator: ":").last.flatMap { Int($0) }))
    }

    /// A request of four events of one user.
    private static func request(_ number: Int) -> String {
        let events = (0..<4).map { place in
            #"{"id":"\#(number)-\#(place)","user":{"id":"u\#(number)","consent":true},"event":{"type":"screenView","name":"s"}}"#
        }
        return "{\"events\":[\(events.joined(separator: ","))]}"
    }

    /// Sends requests, eight at a time, and kills the program after some answers.
    private static func send(_ numbers: Range<Int>, to child: Child, killingAfter answers: Int) async throws {
        let wire = try wire(child)
        await withTaskGroup(of: Bool.self) { group in
            var rest = numbers.makeIterator()
            var answered = 0
            func next() {
                guard let number = rest.next() else { return }
                group.addTask { (try? await wire.post("/v1/events", request(number), token: "test").status) == 200 }
            }
            for _ in 0..<8 { next() }
            for await isAnswered in group {
                if isAnswered { answered += 1 }
                if answered == answers { child.kill() }
                if answered < answers { next() }
            }
        }
    }

    @Test("every event is accepted once, however often the program is killed and the sender retries")
    func kills() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = try Self.configuration(in: folder)
        let requests = 0..<60
        for answers in [3, 11, 25] {
            try await Self.send(requests, to: try await Child(["--config", path]), killingAfter: answers)
        }
        let child = try await Child(["--config", path])
        let wire = try Self.wire(child)
        for number in requests {
            let answer = try await wire.post("/v1/events", Self.request(number), token: "test")
            #expect(answer.status == 200)
            #expect(answer.body.contains(#""refused":0"#))
        }
        let state = try await wire.request("GET", "/console/state", ["Authorization": "Bearer test"])
        #expect(state.body.contains(#""accepted":240,"#), "\(state.body)")
        #expect(child.end() == 0)
    }

    @Test("an invalid configuration ends the program at once, with the key in the message")
    func wrong() async throws {
        let child = try await Child(["--config", "/nowhere/gateway.json"])
        #expect(child.head == "")
        #expect(child.end() == 66)
    }
}
