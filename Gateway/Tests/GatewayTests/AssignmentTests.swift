import AdapterKit
import ConformanceKit
import Experimentation
import Foundation
import GatewayWaiting
import PostgresServers
import Testing

@Suite("Assignments over several instances", .serialized)
struct AssignmentTests {
    private static func variant(_ answer: WireAnswer) throws -> String {
        try #require(try JSON.parse(answer.body).objectValue?["variant"]?.stringValue, "\(answer)")
    }

    @Test("the first assignment holds at every instance, even after the allocation is reversed")
    func first() async throws {
        let site = try await Site(.split, polling: 2)
        let instances = [try await site.instance(), try await site.instance(), try await site.instance()]
        let users = (0..<40).map { "user-\($0)" }
        try await eventually("there are rules") {
            try await instances[0].flag("checkout-color", of: "ada").status == 200
        }
        var before: [String: String] = [:]
        for (number, user) in users.enumerated() {
            before[user] = try Self.variant(await instances[number % 3].flag("checkout-color", of: user))
        }
        #expect(Set(before.values).count == 2)
        let count = try site.database.ask(
            "SELECT count(*) FROM \(site.schema).state WHERE encode(key, 'escape') LIKE 'gateway/assigned/%'"
        )
        #expect(count == "41\n")
        // All users get the control from now on; a user who was never here shows it.
        try await site.turnRound()
        for instance in instances {
            var number = 0
            try await eventually("an instance has the new allocation") {
                number += 1
                let new = (0..<10).map { "\(instance.wire.port)-\(number)-\($0)" }
                var seen: Set<String> = []
                for user in new { seen.insert(try Self.variant(await instance.flag("checkout-color", of: user))) }
                return seen.count == 1
            }
        }
        for instance in instances {
            for user in users {
                #expect(try Self.variant(await instance.flag("checkout-color", of: user)) == before[user], "\(user)")
            }
        }
        for instance in instances { #expect(try await instance.child.end() == 0) }
        await site.end()
    }

    @Test("a denial of consent removes assignments, and without consent none are stored")
    func consent() async throws {
        let site = try await Site(.split)
        let instance = try await site.instance()
        try await eventually("there are rules") {
            try await instance.flag("checkout-color", of: "ada").status == 200
        }
        func kept() throws -> String {
            try site.database.ask(
                "SELECT count(*) FROM \(site.schema).state WHERE encode(key, 'escape') LIKE 'gateway/assigned/%'"
            )
        }
        #expect(try kept() == "1\n")
        #expect(try await instance.flag("checkout-color", of: "ben", consent: false).status == 200)
        #expect(try kept() == "1\n")
        #expect(try await instance.consent(false, of: "ada", id: "no").status == 200)
        try await eventually("the assignment is gone") { try kept() == "0\n" }
        #expect(try await instance.child.end() == 0)
        await site.end()
    }
}

extension Site {
    /// Assigns the control to all users, in the vendor's own file.
    func turnRound() async throws { try await change(\.turned) }
}

extension FlagValue {
    /// The same with 100 % for the reference of each group of variations, and nothing for the others.
    fileprivate var turned: FlagValue {
        switch self {
        case .array(let values): return .array(values.map(\.turned))
        case .object(var members):
            if case .array(let variations)? = members["variations"] {
                members["variations"] = .array(
                    variations.enumerated().map { place, variation in
                        guard case .object(var members) = variation else { return variation }
                        members["allocation"] = place == 0 ? 100 : 0
                        return .object(members)
                    }
                )
                return .object(members)
            }
            return .object(members.mapValues(\.turned))
        default: return self
        }
    }
}
