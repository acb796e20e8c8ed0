import Experimentation
import ExperimentationPostgres
import Foundation
import GatewayWaiting
import PostgresServers
import Testing

@testable import GatewayServer

@Suite("A tenant that can't be opened", .serialized)
struct FailedOpeningTests {
    @Test("attempts that fail behind the store leave no connection behind")
    func connections() async throws {
        let server = try PostgresServer.shared
        let name = "f" + UUID().uuidString.replacing("-", with: "").lowercased()
        let store = try await PostgresStore.open(server.url, options: PostgresStoreOptions(schema: name))
        // A request that a crash interrupted, so that the intake reads what waits, which this role may not.
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

    @Test("a database that answers, but too late to be opened, is used as soon as it can be")
    func late() async throws {
        let server = try PostgresServer.shared
        let name = "f" + UUID().uuidString.replacing("-", with: "").lowercased()
        let lock = try OpeningLock(of: name, at: server)
        var (tenant, database) = (Served.tenant(), SharedDatabase(url: server.url, schema: name))
        database.openingPatience = .seconds(1)
        tenant.store = .postgres(database)
        let provider = Served.publisher()
        let first = try await TenantConnection.opened(tenant, provider: provider, environment: ClientEnvironment())
        #expect(first.isProvisional)
        try lock.release()
        database.openingPatience = nil
        tenant.store = .postgres(database)
        let second = try await TenantConnection(
            tenant,
            provider: provider,
            environment: ClientEnvironment(),
            after: first
        )
        #expect(!second.isProvisional)
        first.retire(isInherited: true)
        await first.close()
        await second.close()
    }
}
