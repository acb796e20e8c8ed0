import AdapterKit
import ConformanceKit
import Experimentation
import Foundation
import GatewayWaiting
import PostgresServers
import Testing

extension StormTests {
    @Test(
        "P79: a rolling restart under load fails no request, and all are answered while the database is away",
        .timeLimit(.minutes(480))
    )
    func rolling() async throws {
        let site = try await Site(
            .split,
            database: try PostgresServer(),
            polling: 2,
            // As many requests wait for one commit as there are callers.
            postgres: #","meanwhile":"meanwhile.sqlite","connections":8"#
        )
        var variables = ["XP_GATEWAY_SHUTDOWN_DRAIN_SECONDS": "10"]
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
        let load = Shared(Load.full)
        let rolling = Shared(Rolling())
        let delivered = DeliveredGoals(at: site.mock)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask { await Self.ask(lane, rotation, rolling, load) }
            }
            // A balancer: an instance that isn't ready gets nothing new.
            group.addTask {
                while load.value != .over, !Task.isCancelled {
                    for port in rotation.value {
                        let isReady = (try? await Wire(port: port).request("GET", "/ready").status) == 200
                        if !isReady { rotation.change { $0.removeAll { $0 == port } } }
                    }
                    try await pause(.milliseconds(50))
                }
            }
            for round in 0..<max(1, Int(10 * Self.share)) {
                for number in 0..<3 {
                    let old = running[number]
                    rolling.change { $0.asked = .now }
                    let status = try await old.child.end()
                    #expect(status == 0, "round \(round)")
                    running[number] = try await start(number)
                    let port = running[number].wire.port
                    rotation.change { $0.append(port) }
                }
            }
            let rolled = rolling.value.answered
            #expect(rolled > 100)
            #expect(rolling.value.failures == [])
            let before = rolling.value.goals.count
            try site.database.pause(true)
            load.change { $0 = .paced }
            try await pause(.seconds(Self.variable("AWAY") ?? max(8, 3_600 * Self.share)))
            #expect(rolling.value.goals.count > before)
            try site.database.pause(false)
            #expect(rolling.value.answered > rolled + 100)
            try await eventually("an instance is fresh again") {
                try await !running[0].flag("checkout-color", of: "ada").body.contains("STALE")
            }
            load.change { $0 = .over }
            try await group.waitForAll()
        }
        let seen = rolling.value
        #expect(seen.failures == [])
        #expect(seen.variants.filter { $0.value.count != 1 } == [:])
        try await eventually("every goal is delivered", within: Self.afterwards) {
            delivered.goals.isSuperset(of: seen.goals)
        }
        delivered.end()
        try await eventually("every assignment is written down", within: Self.afterwards) {
            let count = try site.database.ask(
                "SELECT count(*) FROM \(site.schema).state WHERE encode(key, 'escape') LIKE 'gateway/assigned/%'"
            )
            return count == "\(seen.variants.count + 1)\n"
        }
        try await Self.isKept(seen.variants, by: running, of: site)
        for instance in running { #expect(try await instance.child.end() == 0) }
        site.database.stop()
        await site.end()
    }

    /// How callers ask.
    private enum Load {
        /// As fast as they are answered.
        case full
        /// With a pause between questions: an hour at full speed would only fill the disk.
        case paced
        /// No more.
        case over
    }

    /// The answers that callers got, and what went wrong.
    private struct Rolling {
        var answered = 0
        var failures: [String] = []
        var asked = ContinuousClock.now
        var variants: [String: Set<String>] = [:]
        var goals: Set<String> = []
    }

    /// The number of users that a caller asks for, each repeatedly.
    private static let usersOfLane = 2_000
    /// The number of questions after which a caller sends a goal.
    private static let goalEvery = 20

    /// Asks whichever instances a balancer names, over connections that are kept.
    private static func ask(
        _ lane: Int,
        _ rotation: Shared<[Int]>,
        _ rolling: Shared<Rolling>,
        _ load: Shared<Load>
    ) async {
        var number = 0
        var kept: [Int: KeptWire] = [:]
        while load.value != .over, !Task.isCancelled {
            number += 1
            if load.value == .paced { try? await pause(.milliseconds(40)) }
            let ports = rotation.value
            let port = ports[number % ports.count]
            let wire = kept[port] ?? KeptWire(port: port)
            kept[port] = wire
            let user = "user-\(lane)-\(number % usersOfLane)"
            let isGoal = number % goalEvery == 0
            let goal = 1_000_000_000 * (lane + 1) + number
            let answer =
                isGoal
                ? await wire.post("/v1/events", Instance.goal(goal, user, true), token: Site.token)
                : await wire.post(
                    "/ofrep/v1/evaluate/flags/checkout-color",
                    #"{"context":{"targetingKey":"\#(user)","consent":true}}"#,
                    token: Site.token
                )
            guard let answer, answer.status == 200 else {
                let trouble = await wire.trouble
                let what = answer.map { "\($0)" } ?? trouble
                rolling.change { rolling in
                    let since = rolling.asked.duration(to: .now)
                    rolling.failures.append("\(port), \(since) after the last was asked to end: \(what)")
                }
                continue
            }
            let variant = isGoal ? nil : try? JSON.parse(answer.body).objectValue?["variant"]?.stringValue
            rolling.change { rolling in
                rolling.answered += 1
                if isGoal { rolling.goals.insert("goal-\(goal)-0") }
                if let variant { rolling.variants[user, default: []].insert(variant) }
            }
        }
        for wire in kept.values { await wire.close() }
    }

    /// Checks that users keep the answers that they got, whatever a computation would yield now.
    private static func isKept(
        _ variants: [String: Set<String>],
        by running: [Instance],
        of site: Site
    ) async throws {
        try await site.turnRound()
        for (number, instance) in running.enumerated() {
            var round = 0
            try await eventually("an instance has the new allocation") {
                round += 1
                var seen: Set<String> = []
                for place in 0..<8 {
                    seen.insert(try await variant(of: "new-\(number)-\(round)-\(place)", at: instance))
                }
                return seen.count == 1
            }
        }
        for (place, (user, told)) in variants.sorted(by: { $0.key < $1.key }).prefix(2_000).enumerated() {
            #expect(Set([try await variant(of: user, at: running[place % running.count])]) == told, "\(user)")
        }
    }

    private static func variant(of user: String, at instance: Instance) async throws -> String {
        let answer = try await instance.flag("checkout-color", of: user)
        return try #require(try JSON.parse(answer.body).objectValue?["variant"]?.stringValue)
    }
}
