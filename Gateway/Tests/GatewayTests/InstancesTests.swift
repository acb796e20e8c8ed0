import AdapterKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import MockVendors
import PostgresServers
import Synchronization
import Testing

@testable import GatewayServer

/// How many, counted by several tasks.
private final class Count: Sendable {
    private let state = Mutex(0)

    /// Counts on, and gives what it is then.
    func add(_ count: Int) -> Int {
        state.withLock { state in
            state += count
            return state
        }
    }
}

/// Several gateways, as processes, on one real database and one mock of Flagship.
@Suite("Several instances on one database", .serialized)
struct InstancesTests {
    /// What they share.
    private struct Site {
        let mock: MockServer
        let path: String
        let schema: String
        let folder: URL

        init() async throws {
            let flagship = try #require(Vendor.named("flagship"))
            let (vendor, _) = try await flagship.mock(with: .shop)
            mock = MockServer(vendor)
            try await mock.start()
            schema = "g" + UUID().uuidString.replacing("-", with: "").lowercased()
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let settings: FlagValue = [
                "vendor": "flagship", "mode": "bucketing",
                "environmentID": .string(vendor.credentials["environmentID"] ?? ""),
                "apiKey": .string(vendor.credentials["apiKey"] ?? ""),
                "endpoints": .object(mock.endpoints.mapValues { .string($0) }),
            ]
            try JSONEncoder().encode(settings).write(to: folder.appendingPathComponent("vendor.json"))
            let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
            let gateway = #"""
                {"http":{"port":0},"operators":{"tokens":["\#(digest)"]},
                 "tenants":{"shop":{"vendor":"vendor.json","tokens":["\#(digest)"],
                  "store":{"postgres":{"url":{"env":"XP_TEST_DATABASE"},"schema":"\#(schema)","leaseSeconds":3}}}}}
                """#
            try Data(gateway.utf8).write(to: folder.appendingPathComponent("gateway.json"))
            path = folder.appendingPathComponent("gateway.json").path
        }

        func instance() async throws -> (child: Child, wire: Wire) {
            let child = try await Child(
                ["--config", path],
                variables: ["XP_TEST_DATABASE": try PostgresServer.shared.url]
            )
            let url = try #require(try JSON.parse(child.head).objectValue?["url"]?.stringValue)
            return (child, Wire(port: try #require(url.split(separator: ":").last.flatMap { Int($0) })))
        }

        /// How often each goal was sent to the vendor.
        func goals() -> [String: Int] { Self.goals(in: mock.journal) }

        static func goals(in journal: [JournalEntry]) -> [String: Int] {
            var goals: [String: Int] = [:]
            for entry in journal {
                for match in String(decoding: entry.request.body, as: UTF8.self).matches(of: /goal-[0-9]+-[0-9]/) {
                    goals[String(match.output), default: 0] += 1
                }
            }
            return goals
        }

        func end() async {
            await mock.stop()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// A request of two events of one user.
    private static func request(_ number: Int) -> String {
        let events = (0..<2).map { place in
            """
            {"id":"\(number)-\(place)","user":{"id":"u\(number % 7)","consent":true},
             "event":{"type":"goalCompleted","name":"goal-\(number)-\(place)"}}
            """
        }
        return "{\"events\":[\(events.joined(separator: ","))]}"
    }

    @Test("two and three instances: one is killed, and every event is accepted and delivered", arguments: [2, 3])
    func killed(count: Int) async throws {
        let site = try await Site()
        var instances: [(child: Child, wire: Wire)] = []
        for _ in 0..<count { instances.append(try await site.instance()) }
        let wires = instances.map(\.wire)
        let answered = Count()
        let victim = instances[0].child
        let requests = 0..<60
        await withTaskGroup { group in
            for lane in 0..<6 {
                group.addTask {
                    for number in requests where number % 6 == lane {
                        let body = Self.request(number)
                        var place = number
                        // To another one, until one has taken it.
                        while (try? await wires[place % count].post("/v1/events", body, token: "test").status) != 200 {
                            place += 1
                        }
                        if answered.add(1) == 20 { victim.kill() }
                    }
                }
            }
        }
        let expected = Set(requests.flatMap { number in (0..<2).map { "goal-\(number)-\($0)" } })
        try await site.mock.wait(within: .seconds(120)) { Set(Site.goals(in: $0).keys) == expected }
        for (child, _) in instances.dropFirst() { #expect(child.end() == 0) }
        let left = try PostgresServer.shared.ask("SELECT count(*) FROM \(site.schema).delivery")
        #expect(left == "0\n")
        // Only what the one that was killed had in hand may have been sent twice, under the same ids.
        #expect(site.goals().values.filter { $0 > 1 }.count <= 2 * 20)
        await site.end()
    }

    @Test("an event that is sent to all instances at once is accepted by one")
    func once() async throws {
        let site = try await Site()
        var instances: [(child: Child, wire: Wire)] = []
        for _ in 0..<3 { instances.append(try await site.instance()) }
        let wires = instances.map(\.wire)
        for number in 0..<20 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for wire in wires {
                    group.addTask {
                        while try await wire.post("/v1/events", Self.request(number), token: "test").status != 200 {}
                    }
                }
                try await group.waitForAll()
            }
        }
        for (child, _) in instances { #expect(child.end() == 0) }
        #expect(site.goals().values.filter { $0 != 1 } == [])
        #expect(site.goals().count == 40)
        await site.end()
    }

    @Test("who denies consent at one instance is refused by the others at once, and has nothing sent")
    func consent() async throws {
        let site = try await Site()
        let (first, second) = (try await site.instance(), try await site.instance())
        let denial = #"{"id":"d","user":{"id":"u1","consent":true},"event":{"type":"consentChanged","granted":false}}"#
        #expect(try await first.wire.post("/v1/events", denial, token: "test").status == 200)
        // Who says nothing is known by what they said elsewhere.
        let event = #"{"id":"e","user":{"id":"u1"},"event":{"type":"goalCompleted","name":"goal-1-0"}}"#
        let answer = try await second.wire.post("/v1/events", event, token: "test")
        #expect(answer.body.contains("CONSENT_DENIED"), "\(answer)")
        #expect(first.child.end() == 0)
        #expect(second.child.end() == 0)
        #expect(site.goals() == [:])
        await site.end()
    }
}
