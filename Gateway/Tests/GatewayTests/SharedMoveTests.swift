import Experimentation
import Foundation
import GatewayWaiting
import MockVendors
import PostgresServers
import Testing

/// Three gateways, as processes, on one real database, with a tenant in a move.
@Suite("A move at several instances", .serialized)
struct SharedMoveTests {
    private static func site(stage: String) async throws -> MoveSite {
        let schema = "m" + UUID().uuidString.replacing("-", with: "").lowercased()
        let database: FlagValue = ["url": .string(try PostgresServer.shared.url), "schema": .string(schema)]
        return try await MoveSite(store: ["postgres": database], interval: 2, stage: stage)
    }

    private static func started(_ site: MoveSite) async throws -> [Instance] {
        var instances: [Instance] = []
        for _ in 0..<3 { instances.append(try await site.instance()) }
        for instance in instances {
            try await eventually("an instance has rules") {
                try await instance.flag("welcome", of: "ada").body.contains("Hello!")
            }
        }
        return instances
    }

    @Test("the rules of both vendors are fetched once per interval, whatever clients ask of three instances")
    func once() async throws {
        let site = try await Self.site(stage: "shadow")
        let instances = try await Self.started(site)
        // Flagship is asked every 2 seconds, and Sigma every 10, which is the least it can be set to.
        let intervals = [2.0, 10.0]
        var number = 0
        try await eventually("both vendors were asked several times") {
            number += 1
            for instance in instances {
                // The same users over and over: to ask again isn't to ask for newer rules.
                _ = try await instance.flag("welcome", of: "user-\(number % 5)")
            }
            return site.fetches(of: 0).count >= 4 && site.fetches(of: 1).count >= 3
        }
        #expect(number > 3)
        for (place, interval) in intervals.enumerated() {
            let times = site.fetches(of: place)
            // Nine tenths of an interval, less what the mock's clock and the database's differ in.
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 > 0.85 * interval }, "\(times)")
        }
        for instance in instances { #expect(try await instance.child.end() == 0) }
        await site.end()
    }

    @Test(
        "a change that one instance fetches reaches all instances, and listeners are notified",
        arguments: ["off", "shadow"]
    )
    func change(stage: String) async throws {
        let site = try await Self.site(stage: stage)
        let instances = try await Self.started(site)
        let bulk = try await instances[2].wire.post(
            "/ofrep/v1/evaluate/flags",
            #"{"context":{"targetingKey":"ada"}}"#,
            token: Site.token
        )
        let path = try #require(bulk.body.firstMatch(of: /"requestUri":"([^"]+)"/)?.output.1)
        let hasChanged = Shared(false)
        let text = try await instances[2].wire.talk("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n") { text in
            if text.contains("says when to ask again"), !hasChanged.value {
                hasChanged.change { $0 = true }
                try await Self.change(site, instances)
            }
            return text.contains("refetchEvaluation")
        }
        #expect(text.contains("refetchEvaluation"))
        for instance in instances { #expect(try await instance.child.end() == 0) }
        await site.end()
    }

    private static func change(_ site: MoveSite, _ instances: [Instance]) async throws {
        try await site.vendors[0].change { $0.replacing("Hello!", with: "Good day!") }
        // Only the first instance is asked, so that it fetches the change, and the others learn of it.
        try await eventually("the change is fetched") {
            try await instances[0].flag("welcome", of: "ada").body.contains("Good day!")
        }
        let fetched = ContinuousClock.now
        for instance in instances {
            try await eventually("the change reaches an instance") {
                try await instance.flag("welcome", of: "ada").body.contains("Good day!")
            }
        }
        let taken = fetched.duration(to: .now)
        if isSoak { #expect(taken < .seconds(1), "\(taken)") }
    }
}
