import Experimentation
import ExperimentationPostgres
import Foundation
import GatewayWaiting
import PostgresServers
import Testing

@testable import GatewayServer

@Suite("A tenant that can't be opened", .serialized)
struct FailedOpeningTests {
    @Test("an attempt that fails after the store was opened leaves no connection behind")
    func connections() async throws {
        let server = try PostgresServer.shared
        let name = "f" + UUID().uuidString.replacing("-", with: "").lowercased()
        let store = try await PostgresStore.open(server.url, options: PostgresStoreOptions(schema: name))
        // A request that a crash interrupted, so that the intake reads waiting events, which this role may not.
        try await store.state.setValue(Array("0 digest".utf8), for: "gateway/begun/request")
        await store.close()
        try server.ask(
            """
            CREATE ROLE \(name) LOGIN; GRANT USAGE ON SCHEMA \(name) TO \(name);
            GRANT ALL ON ALL TABLES IN SCHEMA \(name) TO \(name); GRANT ALL ON ALL SEQUENCES IN SCHEMA \(name) TO \(name);
            REVOKE ALL ON \(name).event FROM \(name)
            """
        )
        var tenant = Served.tenant()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(name).sqlite")
        defer { try? FileManager.default.removeItem(at: file) }
        tenant.store = .postgres(
            SharedDatabase(
                url: server.url.replacing("user=postgres", with: "user=\(name)"),
                schema: name,
                meanwhile: file
            )
        )
        for _ in 0..<3 {
            let error = await #expect(throws: ExperimentationError.self) {
                _ = try await TenantConnection.opened(
                    tenant,
                    provider: Served.publisher(),
                    environment: ClientEnvironment()
                )
            }
            #expect(error?.message.contains("42501") == true)
        }
        // The watch's thread ends within a second.
        try await eventually("no connection is left", within: .seconds(30)) {
            try server.ask("SELECT count(*) FROM pg_stat_activity WHERE usename = '\(name)'") == "0\n"
        }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.contains(name) == true
        }
        #expect(open == [], "the file is closed")
    }

    @Test("tables locked by another machine delay neither a reload nor the shutdown, and are used as soon as possible")
    func late() async throws {
        let server = try PostgresServer.shared
        let names = (0..<2).map { _ in "f" + UUID().uuidString.replacing("-", with: "").lowercased() }
        for name in names { try server.ask("CREATE ROLE \(name) LOGIN SUPERUSER") }
        let locks = try names.map { try HeldLock(openingOf: $0, at: server) }
        let tenants = names.map { name in
            let url = server.url.replacing("user=postgres", with: "user=\(name)")
            var tenant = Served.tenant(name, token: name)
            var database = SharedDatabase(url: url, schema: name)
            // An attempt that isn't over before the test is, however busy the machine: after the end there is no other.
            database.openingPatience = .seconds(3_600)
            tenant.store = .postgres(database)
            return tenant
        }
        @Sendable func count(_ name: String, where condition: String = "true") throws -> String {
            try server.ask("SELECT count(*) FROM pg_stat_activity WHERE usename = '\(name)' AND \(condition)")
        }
        @Sendable func isBeingOpened(_ name: String) throws -> Bool {
            // The server may still hold the process of an attempt whose client has gone.
            try count(name, where: "wait_event = 'advisory'") != "0\n"
        }
        try await Served.run {
            $0.tenants = tenants
        } body: { served in
            var provisional: [Bool] { served.gateway.responder.tenants.tenants.map(\.connection.isProvisional) }
            #expect(provisional == [true, true])
            try await eventually("both are being opened at the same time") { try names.allSatisfy(isBeingOpened) }
            try await served.gateway.reload(tenants + [Served.tenant()])
            #expect(try isBeingOpened(names[1]), "the reload didn't wait for it")
            #expect(provisional == [true, true, false])
            try locks[0].release()
            try await eventually("the first one's tables are used") { provisional == [false, true, false] }
        }
        #expect(try isBeingOpened(names[1]), "the end didn't wait for it")
        try locks[1].release()
        try await eventually("what was opened after the end is closed") { try count(names[1]) == "0\n" }
        #expect(try server.ask("SELECT to_regclass('\(names[1]).store') IS NOT NULL") == "t\n")
    }

    @Test("listeners are notified once the shared database is in use, because their answers were stale")
    func announced() async throws {
        let server = try PostgresServer.shared
        let name = "f" + UUID().uuidString.replacing("-", with: "").lowercased()
        let lock = try HeldLock(openingOf: name, at: server)
        var tenant = Served.tenant()
        tenant.store = .postgres(SharedDatabase(url: server.url, schema: name))
        // The vendor publishes no rules, whose arrival would be announced anyway.
        try await Served.run(over: Asked()) { [tenant] in
            $0.tenants = [tenant]
        } body: { served in
            var connection: TenantConnection { served.gateway.responder.tenants.tenants[0].connection }
            let before = connection.changes
            #expect(connection.isProvisional)
            #expect(before.changes == 0)
            try lock.release()
            try await eventually("the database is used") { !connection.isProvisional }
            #expect(connection.changes === before)
            try await eventually("listeners are told", within: .seconds(20)) { before.changes > 0 }
        }
    }

    @Test("a database that can be reached but not used is reported once")
    func reported() async throws {
        let server = try PostgresServer.shared
        let name = "f" + UUID().uuidString.replacing("-", with: "").lowercased()
        try await PostgresStore.open(server.url, options: PostgresStoreOptions(schema: name)).close()
        let lock = try HeldLock(openingOf: name, at: server)
        var tenant = Served.tenant()
        tenant.store = .postgres(SharedDatabase(url: server.url, schema: name))
        let attempts = Shared(0)
        let gateway = try await Gateway(
            GatewayConfiguration(tenants: [tenant]),
            environment: ClientEnvironment()
        ) { _ in
            attempts.change { $0 += 1 }
            return Served.publisher()
        }
        var isProvisional: Bool { gateway.responder.tenants.tenants[0].connection.isProvisional }
        var reports: Int { gateway.messages.messages.count { $0.entry.message.contains("has version 99") } }
        #expect(isProvisional)
        try server.ask("UPDATE \(name).store SET version = 99")
        try lock.release()
        try await eventually("it is reported, and tried again", within: .seconds(30)) {
            gateway.openWaiting()
            return reports > 0 && attempts.value > 4
        }
        #expect(reports == 1)
        try server.ask("UPDATE \(name).store SET version = 3")
        try await eventually("the database is used") {
            gateway.openWaiting()
            return !isProvisional
        }
        await gateway.close()
    }

    @Test("tenants are opened at the same time")
    func atOnce() async throws {
        let started = Shared(0)
        let tenants = ["a", "b"].map { Served.tenant($0, token: $0) }
        let gateway = try await Gateway(
            GatewayConfiguration(tenants: tenants),
            environment: ClientEnvironment()
        ) { _ in Companion(started: started) }
        #expect(gateway.responder.tenants.tenants.map(\.name) == ["a", "b"])
        await gateway.close()
    }
}

/// A vendor that begins only together with another tenant's.
private struct Companion: ExperimentationProvider {
    let started: Shared<Int>
    let name = "companion"
    let scope = ""
    let capabilities: Set<Capability> = []

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        started.change { $0 += 1 }
        do { try await eventually("the other one begins") { started.value == 2 } } catch {
            throw ExperimentationError(.timeout, "\(error)")
        }
        return ProviderRoles()
    }
}
