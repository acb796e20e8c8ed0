import AdapterKit
import ConformanceKit
import Experimentation
import Foundation
import GatewayWaiting
import MockVendors
import PostgresServers
import Testing

@Suite("While the database is away", .serialized)
struct MeanwhileTests {
    private static func started(
        _ world: World = .shop,
        instances count: Int = 2
    ) async throws -> (site: Site, instances: [Instance]) {
        let site = try await Site(
            world,
            database: try PostgresServer(),
            polling: 2,
            postgres: #","meanwhile":"meanwhile.sqlite""#
        )
        var instances: [Instance] = []
        for number in 0..<count {
            // Each machine has a file of its own.
            let file = site.folder.appendingPathComponent("meanwhile-\(number).sqlite").path
            instances.append(try await site.instance(["XP_GATEWAY_TENANTS_SHOP_STORE_POSTGRES_MEANWHILE": file]))
        }
        for instance in instances {
            try await eventually("an instance has rules") {
                try await instance.flag("checkout-color", of: "ada").status == 200
            }
        }
        return (site, instances)
    }

    @Test("evaluations continue as stale, events are accepted, and each is delivered once when the database is back")
    func events() async throws {
        let (site, instances) = try await Self.started()
        try site.database.pause(true)
        for number in 0..<30 {
            let instance = instances[number % 2]
            #expect(try await instance.goal(number, of: "user-\(number % 5)").status == 200)
        }
        for instance in instances {
            try await eventually("an instance answers as stale") {
                try await instance.flag("checkout-color", of: "ada").body.contains("STALE")
            }
            #expect(try await instance.flag("checkout-color", of: "nobody-yet").body.contains("green"))
        }
        // An event that was accepted is recognized when it is repeated, now and afterwards.
        #expect(try await instances[0].goal(0, of: "user-0").body.contains("repeated"))
        #expect(site.goals() == [:])
        try site.database.pause(false)
        try await site.mock.wait(within: .seconds(120)) { Site.goals(in: $0).count == 30 }
        for instance in instances {
            try await eventually("an instance is fresh again") {
                try await !instance.flag("checkout-color", of: "ada").body.contains("STALE")
            }
        }
        #expect(try await instances[1].goal(0, of: "user-0").body.contains("repeated"))
        for instance in instances { #expect(try await instance.child.end() == 0) }
        #expect(site.goals().values.filter { $0 != 1 } == [])
        site.database.stop()
        await site.end()
    }

    @Test("accepted events survive the instance's death and are handed over by the next one")
    func killed() async throws {
        let (site, instances) = try await Self.started(instances: 1)
        try site.database.pause(true)
        for number in 0..<10 { #expect(try await instances[0].goal(number).status == 200) }
        try await instances[0].child.kill()
        try site.database.pause(false)
        let file = site.folder.appendingPathComponent("meanwhile-0.sqlite").path
        let next = try await site.instance(["XP_GATEWAY_TENANTS_SHOP_STORE_POSTGRES_MEANWHILE": file])
        try await site.mock.wait(within: .seconds(120)) { Site.goals(in: $0).count == 10 }
        #expect(try await next.child.end() == 0)
        #expect(site.goals().values.filter { $0 != 1 } == [])
        site.database.stop()
        await site.end()
    }

    @Test("after a denial of consent during the outage, nothing from before it is sent")
    func denial() async throws {
        let (site, instances) = try await Self.started(instances: 1)
        let instance = instances[0]
        try site.database.pause(true)
        #expect(try await instance.goal(1, of: "eve").status == 200)
        #expect(try await instance.goal(2, of: "ben").status == 200)
        #expect(try await instance.consent(false, of: "eve", id: "no").status == 200)
        #expect(try await instance.goal(3, of: "eve", says: nil).body.contains("CONSENT_DENIED"))
        try site.database.pause(false)
        try await site.mock.wait(within: .seconds(120)) { Site.goals(in: $0).keys.contains("goal-2-0") }
        try await eventually("the denial has reached the database") {
            try site.database.ask("SELECT count(*) FROM \(site.schema).denied") == "1\n"
        }
        // It never reached the database, which would have had to remove it.
        #expect(try site.database.ask("SELECT sum(purged) FROM \(site.schema).lane") == "0\n")
        #expect(try await instance.child.end() == 0)
        #expect(site.goals() == ["goal-2-0": 1])
        site.database.stop()
        await site.end()
    }

    @Test("events that waited in the database before a denial aren't sent either, however late the denial gets there")
    func denialOfWaiting() async throws {
        let (site, instances) = try await Self.started(instances: 1)
        let instance = instances[0]
        site.mock.setScript([ScriptedFault(.status(503), on: "hits", times: nil)])
        #expect(try await instance.goal(1, of: "eve").status == 200)
        #expect(try await instance.goal(2, of: "ben").status == 200)
        // Deliveries don't need the table, but the events in the file do.
        let lock = try HeldLock(writingTo: "\(site.schema).state", at: site.database)
        try site.database.pause(true)
        try await eventually("the database's absence is known") {
            try await instance.flag("checkout-color", of: "ada").body.contains("STALE")
        }
        #expect(try await instance.consent(false, of: "eve", id: "no").status == 200)
        site.mock.setScript([])
        try site.database.pause(false)
        try await site.mock.wait(within: .seconds(120)) { Site.goals(in: $0).keys.contains("goal-2-0") }
        try lock.release()
        try await eventually("the denial has reached the database") {
            try site.database.ask("SELECT count(*) FROM \(site.schema).denied") == "1\n"
        }
        #expect(try await instance.child.end() == 0)
        #expect(site.goals() == ["goal-2-0": 1])
        site.database.stop()
        await site.end()
    }

    @Test("an assignment made during the outage is stored later, and the first one still wins")
    func assignments() async throws {
        let (site, instances) = try await Self.started(.split, instances: 1)
        try site.database.pause(true)
        try await eventually("the database's absence is known") {
            try await instances[0].flag("checkout-color", of: "ada").body.contains("STALE")
        }
        for number in 0..<20 {
            #expect(try await instances[0].flag("checkout-color", of: "user-\(number)").status == 200)
        }
        try site.database.pause(false)
        try await eventually("all are written down") {
            let count = try site.database.ask(
                "SELECT count(*) FROM \(site.schema).state WHERE encode(key, 'escape') LIKE 'gateway/assigned/%'"
            )
            return count == "21\n"
        }
        #expect(try await instances[0].child.end() == 0)
        site.database.stop()
        await site.end()
    }

    @Test("an instance that starts during the outage serves at once, and switches to the database when it is back")
    func started() async throws {
        let database = try PostgresServer()
        let site = try await Site(.split, database: database, polling: 2, postgres: #","meanwhile":"meanwhile.sqlite""#)
        // An instance before, so that the tables exist and some users are stored.
        let first = try await site.instance()
        try await eventually("the first instance has rules") {
            try await first.flag("checkout-color", of: "ada").status == 200
        }
        let known = try await first.flag("checkout-color", of: "known").body
        #expect(try await first.goal(1).body.contains(#""status":"accepted""#))
        #expect(try await first.child.end() == 0)
        try database.pause(true)
        let file = site.folder.appendingPathComponent("meanwhile-2.sqlite").path
        let instance = try await site.instance(["XP_GATEWAY_TENANTS_SHOP_STORE_POSTGRES_MEANWHILE": file])
        try await eventually("the instance answers as stale") {
            try await instance.flag("checkout-color", of: "ada").body.contains("STALE")
        }
        for number in 2..<12 {
            #expect(try await instance.goal(number, of: "user-\(number)").status == 200)
            #expect(try await instance.flag("checkout-color", of: "user-\(number)").status == 200)
        }
        #expect(try await instance.goal(2, of: "user-2").body.contains("repeated"))
        #expect(site.goals().keys.filter { $0 != "goal-1-0" } == [])
        try database.pause(false)
        try await eventually("the instance is fresh") {
            try await !instance.flag("checkout-color", of: "ada").body.contains("STALE")
        }
        try await site.mock.wait(within: .seconds(120)) { Site.goals(in: $0).count == 11 }
        // Assignments stored before count again, and events accepted before are recognized.
        #expect(try await instance.flag("checkout-color", of: "known").body == known)
        #expect(try await instance.goal(1).body.contains("repeated"))
        #expect(try await instance.goal(2, of: "user-2").body.contains("repeated"))
        try await eventually("the assignments made meanwhile are written down") {
            let count = try database.ask(
                "SELECT count(*) FROM \(site.schema).state WHERE encode(key, 'escape') LIKE 'gateway/assigned/%'"
            )
            return count == "12\n"
        }
        #expect(try await instance.child.end() == 0)
        #expect(site.goals().values.filter { $0 != 1 } == [])
        database.stop()
        await site.end()
    }

    @Test("an instance that starts then without a file refuses events with 503, and ends if it can't read the store")
    func refuses() async throws {
        let database = try PostgresServer()
        let site = try await Site(database: database, polling: 2)
        try database.pause(true)
        let instance = try await site.instance()
        try await eventually("the instance answers as stale") {
            try await instance.flag("checkout-color", of: "ada").body.contains("STALE")
        }
        let refused = try await instance.goal(1)
        #expect(refused.status == 503)
        #expect(refused.fields["retry-after"] == "1")
        try database.pause(false)
        try await eventually("events are accepted") { try await instance.goal(1).status == 200 }
        #expect(try await instance.child.end() == 0)
        try await site.mock.wait(within: .seconds(120)) { Site.goals(in: $0) == ["goal-1-0": 1] }
        try database.ask("UPDATE \(site.schema).store SET version = 99")
        let newer = try await Child(
            ["--config", site.folder.appendingPathComponent("gateway.json").path],
            variables: ["XP_TEST_DATABASE": database.url]
        )
        #expect(newer.head == "")
        #expect(try await newer.end() == 1)
        database.stop()
        await site.end()
    }
}
