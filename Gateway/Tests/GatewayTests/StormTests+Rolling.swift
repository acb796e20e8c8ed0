import ConformanceKit
import Experimentation
import Foundation
import PostgresServers
import Testing

extension StormTests {
    @Test(
        "P79: a rolling restart under load fails no request, and all are answered while the database is away",
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
            try await Task.sleep(for: .seconds(Self.variable("AWAY") ?? max(8, 3_600 * Self.share)))
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
