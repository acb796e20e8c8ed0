import AdapterKit
import Experimentation
import Foundation
import GatewayWaiting
import PostgresServers
import Testing

@testable import GatewayServer

@Suite("The program")
struct KillTests {
    /// A configuration whose vendor accepts no events, so that accepted events stay where they can be counted.
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
        try await withThrowingTaskGroup(of: Bool.self) { group in
            var rest = numbers.makeIterator()
            var answered = 0
            func next() {
                guard let number = rest.next() else { return }
                group.addTask { (try? await wire.post("/v1/events", request(number), token: "test").status) == 200 }
            }
            for _ in 0..<8 { next() }
            for try await isAnswered in group {
                if isAnswered { answered += 1 }
                if answered == answers { try await child.kill() }
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
        #expect(try await child.end() == 0)
    }

    /// A folder with a configuration.
    private static func configured() throws -> (folder: URL, path: String) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(UUID().uuidString)")
        return (folder, try configuration(in: folder))
    }

    /// Misspells a key of the configuration.
    private static func misspell(_ path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try Data(text.replacing(#""port""#, with: #""prot""#).utf8).write(to: URL(fileURLWithPath: path))
    }

    @Test("an invalid configuration ends the program at once, with the key in the message")
    func wrong() async throws {
        let nowhere = try await Child(["--config", "/nowhere/gateway.json"])
        #expect(nowhere.head == "")
        #expect(try await nowhere.end() == 66)
        let (folder, path) = try Self.configured()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.misspell(path)
        let child = try await Child(["--config", path])
        #expect(child.head == "")
        #expect(try await child.end() == 66)
        #expect(child.errors.contains("\(path): \"http.prot\""), "\(child.errors)")
    }

    @Test("SIGHUP with an invalid configuration names the key and changes nothing")
    func wrongLater() async throws {
        let (folder, path) = try Self.configured()
        defer { try? FileManager.default.removeItem(at: folder) }
        let child = try await Child(["--config", path])
        let wire = try Self.wire(child)
        try Self.misspell(path)
        child.hangUp()
        try await eventually("the key is named") { child.errors.contains("\(path): \"http.prot\"") }
        #expect(child.errors.contains("nothing was changed"))
        #expect(try await wire.post("/v1/events", Self.request(1), token: "test").status == 200)
        #expect(try await wire.request("GET", "/health").status == 200)
        #expect(try await child.end() == 0)
    }

    @Test("SIGHUP while the tenants are being opened takes effect once they are open")
    func early() async throws {
        let (folder, path) = try Self.configured()
        defer { try? FileManager.default.removeItem(at: folder) }
        // A database that never answers is waited for.
        let database = try SilentListener()
        defer { database.stop() }
        let url = "postgresql://app@127.0.0.1:\(database.port)/app?sslmode=disable"
        let id = Shared<Int32?>(nil)
        async let starting = Child(
            ["--config", path],
            variables: ["XP_GATEWAY_TENANTS_SHOP_STORE_POSTGRES_URL": url]
        ) { number in id.change { $0 = number } }
        try await eventually("the database is waited for") { database.takeConnections() > 0 }
        _ = Foundation.kill(try #require(id.value), SIGHUP)
        let child = try await starting
        try #require(child.head != "", "\(child.errors)")
        try await eventually("it has read its file again") { child.errors.contains("read again") }
        #expect(try await Self.wire(child).request("GET", "/health").status == 200)
        #expect(try await child.end() == 0)
    }

    @Test("messages are logged by swift-log, with the event's name, from the level that is set")
    func log() async throws {
        let (folder, path) = try Self.configured()
        defer { try? FileManager.default.removeItem(at: folder) }
        let child = try await Child(["--config", path])
        // The vendor can't be reached.
        try await eventually("the failure is logged") { child.errors.contains("event=refresh.failed") }
        #expect(child.errors.contains("warning xp-gateway"), "\(child.errors)")
        #expect(try await child.end() == 0)
        let quiet = try await Child(["--config", path], variables: ["XP_GATEWAY_LOG_LEVEL": "critical"])
        try await eventually("the vendor was asked") {
            let fields = ["Authorization": "Bearer test"]
            return try await Self.wire(quiet).request("GET", "/console/state", fields).body.contains("refresh.failed")
        }
        #expect(try await quiet.end() == 0)
        #expect(quiet.errors == "")
    }
}
