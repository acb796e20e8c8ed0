import AdapterKit
import ConformanceKit
import Experimentation
import Foundation
import GatewayWaiting
import MockVendors
import PostgresServers
import Testing

/// P78 and P79 of `docs/reliability.md`.
///
/// A few seconds of it by default; `STORM=0.1` for a tenth and `SOAK=1` for all of it. `AWAY=600` has the database away for so
/// many seconds rather than for its share of an hour. `XP_GATEWAY_PROGRAM` names the program to run, such as one built for release.
@Suite("Storms over several instances", .serialized)
struct StormTests {
    static let share: Double = isSoak ? 1 : variable("STORM") ?? 0.002

    /// How long accepted events and assignments may take to arrive.
    static let afterwards = Duration.seconds(max(600, 14_400 * share))

    static func variable(_ name: String) -> Double? {
        ProcessInfo.processInfo.environment[name].flatMap { Double($0) }
    }

    /// The answers that the callers got.
    private struct Told {
        var variants: [String: Set<String>] = [:]
        var goals: Set<String> = []
    }

    @Test(
        "P78: first evaluations at three instances under kills, pauses and a partition give one variant per user and lose nothing",
        .timeLimit(.minutes(1_440))
    )
    func first() async throws {
        let users = Int(1_000_000 * Self.share)
        let kills = max(3, Int(100 * Self.share))
        let site = try await Site(
            .split,
            database: try PostgresServer(),
            polling: 2,
            postgres: #","meanwhile":"meanwhile.sqlite","connections":8"#
        )
        let machines = try await Machines(site)
        for number in 0..<3 {
            try await eventually("an instance has rules") {
                try await machines[number].flag("checkout-color", of: "ada").status == 200
            }
        }
        let told = Shared(Told())
        let done = Shared(0)
        let delivered = DeliveredGoals(at: site.mock)
        // Many at once, because they mostly wait for the database's disk.
        let lanes = 48
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    let wires = KeptWires()
                    for number in stride(from: lane, to: users, by: lanes) {
                        let user = "user-\(number)"
                        // At two instances at once: whichever is first, both answer the same.
                        async let one = Self.variant(of: user, at: machines, number, over: wires)
                        async let other = Self.variant(of: user, at: machines, number + 1, over: wires)
                        let seen = Set([try await one, try await other])
                        if number % 10 == 0 { try await Self.goal(number, of: user, at: machines, over: wires) }
                        told.change { told in
                            told.variants[user] = seen
                            if number % 10 == 0 { told.goals.insert("goal-\(number)-0") }
                        }
                        done.change { $0 += 1 }
                    }
                    await wires.close()
                }
            }
            group.addTask {
                // Spread over the whole of it, one trouble after another.
                for trouble in 0..<(kills + 2 * max(1, kills / 10)) {
                    let due = users * trouble / (kills + 2 * max(1, kills / 10))
                    try await eventually("the storm goes on", within: .seconds(86_400)) {
                        done.value >= due
                    }
                    switch trouble % 12 {
                    case 3:
                        try site.database.pause(true)
                        try await pause(.seconds(6))
                        try site.database.pause(false)
                    case 7,
                        1 where kills == 3:
                        machines.relays[trouble % 3].part(true)
                        try await pause(.seconds(6))
                        machines.relays[trouble % 3].part(false)
                    default: try await machines.kill(trouble % 3)
                    }
                }
            }
            try await group.waitForAll()
        }
        let seen = told.value
        #expect(seen.variants.count == users)
        #expect(seen.variants.filter { $0.value.count != 1 } == [:])
        // Accepted events are delivered, whichever file they waited in.
        try await eventually("every goal is delivered", within: Self.afterwards) {
            delivered.goals.isSuperset(of: seen.goals)
        }
        delivered.end()
        try await eventually("every assignment is written down", within: Self.afterwards) {
            let count = try site.database.ask(
                "SELECT count(*) FROM \(site.schema).state WHERE encode(key, 'escape') LIKE 'gateway/assigned/%'"
            )
            return count == "\(users + 1)\n"
        }
        let wires = KeptWires()
        // A new computation would put all users in the control, so any user elsewhere has a stored assignment.
        try await site.turnRound()
        for number in 0..<3 {
            var round = 0
            try await eventually("an instance has the new allocation") {
                round += 1
                var seen: Set<String> = []
                for place in 0..<8 {
                    let user = "new-\(number)-\(round)-\(place)"
                    seen.insert(try await Self.variant(of: user, at: machines, number, over: wires))
                }
                return seen.count == 1
            }
        }
        let sample = seen.variants.sorted { $0.key < $1.key }.prefix(20_000)
        for (place, (user, variants)) in sample.enumerated() {
            #expect(
                Set([try await Self.variant(of: user, at: machines, place, over: wires)]) == variants,
                "\(user)"
            )
        }
        await wires.close()
        #expect(try await machines.end() == [0, 0, 0])
        site.database.stop()
        await site.end()
    }

    /// The variant that a user is answered, from whichever instance is there.
    private static func variant(
        of user: String,
        at machines: Machines,
        _ number: Int,
        over wires: KeptWires
    ) async throws -> String {
        var place = number
        var variant: String?
        try await eventually("\(user) has an answer") {
            let answer = await machines[place].flag("checkout-color", of: user, over: wires)
            if let answer, answer.status == 200 {
                variant = try? JSON.parse(answer.body).objectValue?["variant"]?.stringValue
            }
            place += 1
            return variant != nil
        }
        return try #require(variant)
    }

    private static func goal(
        _ number: Int,
        of user: String,
        at machines: Machines,
        over wires: KeptWires
    ) async throws {
        var place = number
        try await eventually("goal \(number) is accepted") {
            defer { place += 1 }
            return await machines[place].goal(number, of: user, over: wires)?.status == 200
        }
    }
}
