import Foundation
import GatewayWaiting
import MockVendors
import PostgresServers
import Synchronization
import Testing

@testable import GatewayServer

/// A number that several tasks count.
private final class Count: Sendable {
    private let state = Mutex(0)

    /// Adds one and returns the result.
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

    @Test("with two or three instances, one of them killed, every event is accepted and delivered", arguments: [2, 3])
    func killed(count: Int) async throws {
        // Longer than a delivery takes on a busy machine, so only events leased by the killed instance are sent again.
        let site = try await Site(lease: 10)
        var instances: [Instance] = []
        for _ in 0..<count { instances.append(try await site.instance()) }
        let wires = instances.map(\.wire)
        let answered = Count()
        let victim = instances[0].child
        let requests = 0..<60
        try await withThrowingTaskGroup { group in
            for lane in 0..<6 {
                group.addTask {
                    for number in requests where number % 6 == lane {
                        let body = Self.request(number)
                        var place = number
                        // To another instance, until one has accepted it.
                        try await eventually("event \(number) is accepted") {
                            defer { place += 1 }
                            return (try? await wires[place % count].post("/v1/events", body, token: "test").status)
                                == 200
                        }
                        if answered.add(1) == 20 { try await victim.kill() }
                    }
                }
            }
            try await group.waitForAll()
        }
        let expected = Set(requests.flatMap { number in (0..<2).map { "goal-\(number)-\($0)" } })
        try await site.mock.wait(within: .seconds(120)) { Set(Site.goals(in: $0).keys) == expected }
        // Events that the killed instance sent and hadn't settled are sent again by another, once the lease expires.
        try await eventually("nothing is left to deliver", within: .seconds(120)) {
            try PostgresServer.shared.ask("SELECT count(*) FROM \(site.schema).delivery") == "0\n"
        }
        for instance in instances.dropFirst() { #expect(try await instance.child.end() == 0) }
        // Only events leased by the killed instance may have been sent twice, under the same ids.
        #expect(site.goals().values.filter { $0 > 1 }.count <= 2 * 20)
        await site.end()
    }

    @Test("an event sent to all instances at once is accepted by one of them")
    func once() async throws {
        // Longer than any delivery takes, so no instance repeats another's because that seemed to be gone.
        let site = try await Site(lease: 60)
        var instances: [Instance] = []
        for _ in 0..<3 { instances.append(try await site.instance()) }
        let wires = instances.map(\.wire)
        for number in 0..<20 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for wire in wires {
                    group.addTask {
                        try await eventually("an instance takes it") {
                            try await wire.post("/v1/events", Self.request(number), token: "test").status == 200
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        // What the vendor accepts too late on a busy machine is sent again later, not when an instance ends.
        try await site.mock.wait(within: .seconds(120)) { Site.goals(in: $0).count == 40 }
        for instance in instances { #expect(try await instance.child.end() == 0) }
        #expect(site.goals().values.filter { $0 != 1 } == [])
        #expect(site.goals().count == 40)
        await site.end()
    }

    @Test("a denial of consent at one instance applies to the others at once, and nothing is sent")
    func consent() async throws {
        let site = try await Site()
        let (first, second) = (try await site.instance(), try await site.instance())
        let denial = #"{"id":"d","user":{"id":"u1","consent":true},"event":{"type":"consentChanged","granted":false}}"#
        #expect(try await first.wire.post("/v1/events", denial, token: "test").status == 200)
        // A request without consent uses what the user stated at another instance.
        let event = #"{"id":"e","user":{"id":"u1"},"event":{"type":"goalCompleted","name":"goal-1-0"}}"#
        let answer = try await second.wire.post("/v1/events", event, token: "test")
        #expect(answer.body.contains("CONSENT_DENIED"), "\(answer)")
        #expect(try await first.child.end() == 0)
        #expect(try await second.child.end() == 0)
        #expect(site.goals() == [:])
        await site.end()
    }
}
