import Experimentation
import Foundation
import GatewayWaiting
import MockVendors
import PostgresServers
import Testing

@Suite("Rules fetched by one instance for all", .serialized)
struct SharedRulesTests {
    @Test("rules are fetched once per interval, whatever the number of instances", arguments: [1, 3, 6])
    func once(count: Int) async throws {
        // A lease that no fetch outlasts, however busy the machine: otherwise another instance rightly fetches as well.
        let site = try await Site(polling: 2, lease: 60)
        var instances: [Instance] = []
        for _ in 0..<count { instances.append(try await site.instance()) }
        for instance in instances {
            try await eventually("an instance has rules") {
                try await instance.flag("welcome", of: "ada").body.contains("Hello!")
            }
        }
        try await site.mock.wait(within: .seconds(90)) { $0.count { $0.operation == "bucketing" } >= 4 }
        let times = site.mock.journal.filter { $0.operation == "bucketing" }.map(\.received)
        // Nine tenths of two seconds, less what the mock's clock and the database's differ in.
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 > 1.7 }, "\(times)")
        for instance in instances { #expect(try await instance.child.end() == 0) }
        await site.end()
    }

    @Test("a change announced to one instance reaches all within a second")
    func change() async throws {
        let site = try await Site(polling: 20, lease: 60)
        var instances: [Instance] = []
        for _ in 0..<3 { instances.append(try await site.instance()) }
        for instance in instances {
            try await eventually("an instance has rules") {
                try await instance.flag("welcome", of: "ada").body.contains("Hello!")
            }
        }
        let before = site.fetches
        try await site.change { $0.replacing("Hello!", with: "Good day!") }
        try await site.mock.wait(within: .seconds(90)) { $0.count { $0.operation == "bucketing" } > before }
        let heard = ContinuousClock.now
        for instance in instances {
            try await eventually("the change reaches an instance") {
                try await instance.flag("welcome", of: "ada").body.contains("Good day!")
            }
        }
        let taken = heard.duration(to: .now)
        if isSoak { #expect(taken < .seconds(1), "\(taken)") }
        // The others have it without having asked the vendor, unless the next interval is over by now.
        let times = site.mock.journal.filter { $0.operation == "bucketing" }.map(\.received).dropFirst(before)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 > 17 }, "\(times)")
        for instance in instances { #expect(try await instance.child.end() == 0) }
        await site.end()
    }

    @Test("a client that asks all instances in turn never gets older flags than before")
    func monotonic() async throws {
        let site = try await Site(polling: 2, lease: 60)
        let instances = [try await site.instance(), try await site.instance(), try await site.instance()]
        var held: (tag: String, value: Int)?
        var (turn, changes) = (0, 0)
        try await site.change { $0.replacing("Hello!", with: "value-0") }
        try await eventually("four changes are seen") {
            turn += 1
            let answer = try await instances[turn % 3].wire.post(
                "/ofrep/v1/evaluate/flags",
                #"{"context":{"targetingKey":"ada"}}"#,
                token: Site.token,
                held.map { ["If-None-Match": $0.tag] } ?? [:]
            )
            guard answer.status == 200 else {
                #expect(answer.status == 304)
                return false
            }
            let tag = try #require(answer.fields["etag"])
            #expect(tag.contains("."))
            let value = answer.body.firstMatch(of: /"value-([0-9])"/).flatMap { Int($0.output.1) } ?? -1
            #expect(value >= held?.value ?? -1, "\(answer)")
            held = (tag, value)
            if value == changes {
                changes += 1
                try await site.change { $0.replacing("value-\(value)", with: "value-\(changes)") }
            }
            return changes == 4
        }
        for instance in instances { #expect(try await instance.child.end() == 0) }
        await site.end()
    }

    @Test("a client notified of a change by one instance gets it from another, whether or not that one has heard of it")
    func announced() async throws {
        let site = try await Site(polling: 2, lease: 60)
        let instances = [try await site.instance(), try await site.instance()]
        for instance in instances {
            try await eventually("an instance has rules") {
                try await instance.flag("welcome", of: "ada").body.contains("Hello!")
            }
        }
        let (path, ada) = ("/ofrep/v1/evaluate/flags", #"{"context":{"targetingKey":"ada"}}"#)
        let bulk = try await instances[0].wire.post(path, ada, token: Site.token)
        let stream = try #require(bulk.body.firstMatch(of: /"requestUri":"([^"]+)"/)?.output.1)
        let text = try await instances[0].wire.talk("GET \(stream) HTTP/1.1\r\nHost: a\r\n\r\n") { text in
            if text.contains("says when to ask again"), !text.contains("data:") {
                try await site.change { $0.replacing("Hello!", with: "Good day!") }
            }
            return text.contains("data:")
        }
        let revision = try #require(text.firstMatch(of: /"etag":"\\"rules\.([0-9]+)\\""/)?.output.1, "\(text)")
        let query = "?flagConfigEtag=%22rules.\(revision)%22"
        let tag = try #require(bulk.fields["etag"])
        let answer = try await instances[1].wire.post(path + query, ada, token: Site.token, ["If-None-Match": tag])
        #expect(answer.body.contains("Good day!"), "\(answer)")
        for instance in instances { #expect(try await instance.child.end() == 0) }
        await site.end()
    }

    @Test("when an instance is killed while fetching, another fetches under a later epoch")
    func killedLeader() async throws {
        let site = try await Site(polling: 2)
        site.mock.addFault(ScriptedFault(.stall, on: "bucketing"))
        let first = try await site.instance()
        try await site.mock.wait(within: .seconds(30)) { $0.contains { $0.operation == "bucketing" } }
        let second = try await site.instance()
        try await first.child.kill()
        try await eventually("the second has rules") {
            try await second.flag("welcome", of: "ada").body.contains("Hello!")
        }
        let epochs = try site.database.ask(
            "SELECT published.epoch, leader.epoch >= published.epoch, revision FROM \(site.schema).published, \(site.schema).leader"
        )
        #expect(epochs.hasPrefix("2|t|1"), "\(epochs)")
        #expect(try await second.child.end() == 0)
        await site.end()
    }

    @Test("a kill switch seen by one instance applies to all, and so does turning it off")
    func killSwitch() async throws {
        let site = try await Site(polling: 3)
        let instances = [try await site.instance(), try await site.instance(), try await site.instance()]
        for instance in instances {
            try await eventually("an instance has rules") {
                try await instance.flag("welcome", of: "ada").body.contains("Hello!")
            }
        }
        try await site.setPanic(true)
        let before = site.fetches
        try await site.mock.wait(within: .seconds(90)) { $0.count { $0.operation == "bucketing" } > before }
        let heard = ContinuousClock.now
        for instance in instances {
            try await eventually("an instance is switched off") {
                try await instance.flag("welcome", of: "ada").body.contains("DISABLED")
            }
        }
        let taken = heard.duration(to: .now)
        if isSoak { #expect(taken < .seconds(1), "\(taken)") }
        try await site.setPanic(false)
        for instance in instances {
            try await eventually("an instance is switched on again") {
                try await instance.flag("welcome", of: "ada").body.contains("Hello!")
            }
        }
        for instance in instances { #expect(try await instance.child.end() == 0) }
        await site.end()
    }
}
