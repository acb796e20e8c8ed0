import AdapterKit
import ConformanceKit
import Experimentation
import Foundation
import MockVendors
import PostgresServers
import Synchronization
import Testing

/// P78 and P79 of `docs/reliability.md`.
///
/// A few seconds of it by default; `STORM=0.1` for a tenth and `SOAK=1` for all of it.
@Suite("Storms over several instances", .serialized)
struct StormTests {
    private static let share: Double = isSoak ? 1 : variable("STORM") ?? 0.002

    private static func variable(_ name: String) -> Double? {
        ProcessInfo.processInfo.environment[name].flatMap { Double($0) }
    }

    /// What the callers were told.
    private struct Told {
        var variants: [String: Set<String>] = [:]
        var goals: Set<String> = []
    }

    /// Something that several tasks write down.
    private final class Shared<Value: Sendable>: Sendable {
        private let state: Mutex<Value>

        init(_ value: Value) { state = Mutex(value) }

        var value: Value { state.withLock { $0 } }
        func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
    }

    /// Three instances, each with a file and a way to the database of its own, which can be killed and cut off.
    private final class Machines: Sendable {
        let site: Site
        let relays: [CuttingRelay]
        private let instances = Mutex<[Instance]>([])

        init(_ site: Site) async throws {
            self.site = site
            relays = try (0..<3).map { _ in try CuttingRelay(to: site.database) }
            for number in 0..<3 {
                let instance = try await start(number)
                instances.withLock { $0.append(instance) }
            }
        }

        subscript(number: Int) -> Instance { instances.withLock { $0[number % 3] } }

        private func start(_ number: Int) async throws -> Instance {
            let file = site.folder.appendingPathComponent("meanwhile-\(number).sqlite").path
            return try await site.instance(
                url: relays[number].url,
                ["XP_GATEWAY_TENANTS_SHOP_STORE_POSTGRES_MEANWHILE": file]
            )
        }

        func kill(_ number: Int) async throws {
            self[number].child.kill()
            let next = try await start(number)
            instances.withLock { $0[number] = next }
        }

        func end() -> [Int32] {
            let statuses = instances.withLock { $0.map { $0.child.end() } }
            for relay in relays { relay.stop() }
            return statuses
        }
    }

    @Test(
        "P78: first evaluations at three instances under kills, pauses and a partition: one variant a user, nothing lost",
        .timeLimit(.minutes(240))
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
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<12 {
                group.addTask {
                    for number in stride(from: lane, to: users, by: 12) {
                        let user = "user-\(number)"
                        // At two instances at once: whoever is first, both say the same.
                        async let one = Self.variant(of: user, at: machines, number)
                        async let other = Self.variant(of: user, at: machines, number + 1)
                        let seen = Set([try await one, try await other])
                        if number % 10 == 0 { try await Self.goal(number, of: user, at: machines) }
                        told.change { told in
                            told.variants[user] = seen
                            if number % 10 == 0 { told.goals.insert("goal-\(number)-0") }
                        }
                        done.change { $0 += 1 }
                    }
                }
            }
            group.addTask {
                // Spread over the whole of it, one trouble after another.
                for trouble in 0..<(kills + 2 * max(1, kills / 10)) {
                    let due = users * trouble / (kills + 2 * max(1, kills / 10))
                    try await eventually("the storm goes on", within: .seconds(14_400)) {
                        done.value >= due
                    }
                    switch trouble % 12 {
                    case 3:
                        try site.database.pause(true)
                        try await Task.sleep(for: .seconds(6))
                        try site.database.pause(false)
                    case 7,
                        1 where kills == 3:
                        machines.relays[trouble % 3].part(true)
                        try await Task.sleep(for: .seconds(6))
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
        // What was accepted is delivered, whichever file it waited in.
        try await site.mock.wait(within: .seconds(600)) { Set(Site.goals(in: $0).keys).isSuperset(of: seen.goals) }
        try await eventually("every assignment is written down", within: .seconds(600)) {
            let count = try site.database.ask(
                "SELECT count(*) FROM \(site.schema).state WHERE encode(key, 'escape') LIKE 'gateway/assigned/%'"
            )
            return count == "\(users + 1)\n"
        }
        // Computed anew everybody would be in the control; whoever was anywhere else was written down.
        try await site.turnRound()
        for number in 0..<3 {
            var round = 0
            try await eventually("an instance has the new allocation") {
                round += 1
                var seen: Set<String> = []
                for place in 0..<8 {
                    let user = "new-\(number)-\(round)-\(place)"
                    seen.insert(try await Self.variant(of: user, at: machines, number))
                }
                return seen.count == 1
            }
        }
        let sample = seen.variants.sorted { $0.key < $1.key }.prefix(20_000)
        for (place, (user, variants)) in sample.enumerated() {
            #expect(Set([try await Self.variant(of: user, at: machines, place)]) == variants, "\(user)")
        }
        #expect(machines.end() == [0, 0, 0])
        site.database.stop()
        await site.end()
    }

    /// The variant that a user is answered, from whichever instance is there.
    private static func variant(of user: String, at machines: Machines, _ number: Int) async throws -> String {
        var place = number
        while true {
            let answer = try? await machines[place].flag("checkout-color", of: user)
            if let answer, answer.status == 200,
                let variant = try? JSON.parse(answer.body).objectValue?["variant"]?.stringValue
            {
                return variant
            }
            place += 1
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private static func goal(_ number: Int, of user: String, at machines: Machines) async throws {
        var place = number
        while (try? await machines[place].goal(number, of: user).status) != 200 {
            place += 1
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    @Test(
        "P79: a rolling restart under load fails no request, and while the database is away every one is answered",
        .timeLimit(.minutes(120))
    )
    func rolling() async throws {
        let site = try await Site(
            .split,
            database: try PostgresServer(),
            polling: 2,
            postgres: #","meanwhile":"meanwhile.sqlite""#
        )
        var variables = ["XP_GATEWAY_SHUTDOWN_DRAIN_SECONDS": "3"]
        func start(_ number: Int) async throws -> Instance {
            variables["XP_GATEWAY_TENANTS_SHOP_STORE_POSTGRES_MEANWHILE"] =
                site.folder.appendingPathComponent("meanwhile-\(number).sqlite").path
            let instance = try await site.instance(variables)
            try await eventually("an instance has rules") {
                try await instance.flag("checkout-color", of: "ada").status == 200
            }
            return instance
        }
        var running: [Instance] = []
        for number in 0..<3 { running.append(try await start(number)) }
        let rotation = Shared(running.map(\.wire.port))
        let isOver = Shared(false)
        let answered = Shared(0)
        let failures = Shared<[String]>([])
        let asked = Shared(ContinuousClock.now)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask {
                    var number = 0
                    var kept: [Int: KeptWire] = [:]
                    while !isOver.value {
                        number += 1
                        let ports = rotation.value
                        let port = ports[number % ports.count]
                        let wire = kept[port] ?? KeptWire(port: port)
                        kept[port] = wire
                        let body = #"{"context":{"targetingKey":"user-\#(lane)-\#(number)","consent":true}}"#
                        let path = "/ofrep/v1/evaluate/flags/checkout-color"
                        let answer = await wire.post(path, body, token: Site.token)
                        if answer?.status == 200 {
                            answered.change { $0 += 1 }
                        } else {
                            let trouble = await wire.trouble
                            let what = answer.map { "\($0)" } ?? trouble
                            let since = asked.value.duration(to: .now)
                            failures.change { $0.append("\(port), \(since) after the last was asked to end: \(what)") }
                        }
                    }
                    for wire in kept.values { await wire.close() }
                }
            }
            // A balancer: an instance that isn't ready gets nothing new.
            group.addTask {
                while !isOver.value {
                    for port in rotation.value {
                        let isReady = (try? await Wire(port: port).request("GET", "/ready").status) == 200
                        if !isReady { rotation.change { $0.removeAll { $0 == port } } }
                    }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            for round in 0..<max(1, Int(10 * Self.share)) {
                for number in 0..<3 {
                    let old = running[number]
                    asked.change { $0 = .now }
                    let status = try await Self.ended(old.child)
                    #expect(status == 0, "round \(round)")
                    running[number] = try await start(number)
                    let port = running[number].wire.port
                    rotation.change { $0.append(port) }
                }
            }
            let rolled = answered.value
            #expect(rolled > 100)
            #expect(failures.value == [])
            try site.database.pause(true)
            try await Task.sleep(for: .seconds(max(8, 3_600 * Self.share)))
            try site.database.pause(false)
            #expect(answered.value > rolled + 100)
            try await eventually("an instance is fresh again") {
                try await !running[0].flag("checkout-color", of: "ada").body.contains("STALE")
            }
            isOver.change { $0 = true }
            try await group.waitForAll()
        }
        #expect(failures.value == [])
        for instance in running { #expect(instance.child.end() == 0) }
        site.database.stop()
        await site.end()
    }

    /// Asks a process to end, on a thread that may wait for it.
    private static func ended(_ child: Child) async throws -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: child.end()) }
        }
    }
}
