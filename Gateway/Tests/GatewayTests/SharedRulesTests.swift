import Experimentation
import Foundation
import MockVendors
import PostgresServers
import Testing

@Suite("Rules that one instance fetches for all", .serialized)
struct SharedRulesTests {
    @Test("rules are fetched once in an interval, whatever the number of instances", arguments: [1, 3, 6])
    func once(count: Int) async throws {
        let site = try await Site(polling: 2)
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
        for instance in instances { #expect(instance.child.end() == 0) }
        await site.end()
    }

    @Test("a change that one instance hears of reaches all within a second")
    func change() async throws {
        let site = try await Site(polling: 20)
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
        #expect(taken < (isSoak ? .seconds(1) : .seconds(5)), "\(taken)")
        #expect(site.fetches == before + 1)
        for instance in instances { #expect(instance.child.end() == 0) }
        await site.end()
    }

    @Test("an instance that is killed while it fetches is followed by another, under a later epoch")
    func killedLeader() async throws {
        let site = try await Site(polling: 2)
        site.mock.addFault(ScriptedFault(.stall, on: "bucketing"))
        let first = try await site.instance()
        try await site.mock.wait(within: .seconds(30)) { $0.contains { $0.operation == "bucketing" } }
        let second = try await site.instance()
        first.child.kill()
        try await eventually("the second has rules") {
            try await second.flag("welcome", of: "ada").body.contains("Hello!")
        }
        let epochs = try site.database.ask(
            "SELECT published.epoch, leader.epoch >= published.epoch, revision FROM \(site.schema).published, \(site.schema).leader"
        )
        #expect(epochs.hasPrefix("2|t|1"), "\(epochs)")
        #expect(second.child.end() == 0)
        await site.end()
    }

    @Test("the kill switch that one instance meets holds at all, and is lifted at all")
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
        #expect(taken < (isSoak ? .seconds(1) : .seconds(5)), "\(taken)")
        try await site.setPanic(false)
        for instance in instances {
            try await eventually("an instance is switched on again") {
                try await instance.flag("welcome", of: "ada").body.contains("Hello!")
            }
        }
        for instance in instances { #expect(instance.child.end() == 0) }
        await site.end()
    }
}

extension FlagValue {
    /// The same with one text in place of another, wherever it stands.
    fileprivate func replacing(_ text: String, with other: String) -> FlagValue {
        switch self {
        case .string(text): .string(other)
        case .array(let values): .array(values.map { $0.replacing(text, with: other) })
        case .object(let members): .object(members.mapValues { $0.replacing(text, with: other) })
        default: self
        }
    }
}
