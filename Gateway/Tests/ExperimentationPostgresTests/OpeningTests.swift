import Experimentation
import Foundation
import GatewayWaiting
import PostgresServers
import Testing

@testable import ExperimentationPostgres

@Suite("Opening a database")
struct OpeningTests {
    @Test(
        "a password is never sent in clear text, and no message repeats the address",
        arguments: [
            "postgresql://app:s3cret@db.example/app", "postgresql://app:s3cret@db.example/app?sslmode=prefer",
            "postgresql://app:s3cret@127.0.0.1.example/app", "host=10.0.0.1 password=s3cret sslmode=disable",
            "postgresql://app:s3cret@127.0.0.1,db.example/app", "postgresql://app:s3cret@[::1/app", "s3cret",
            "postgresql://app:s3cret@/app?s3cret=1", "postgresql://app:s3cret@localhost/app?hostaddr=10.0.0.1",
            "service=far password=s3cret", "host=localhost,db.example hostaddr=127.0.0.1, password=s3cret",
            "host=a,b hostaddr=127.0.0.1 password=s3cret", "host=localhost, password=s3cret",
            "host=localhost port=1,2 password=s3cret",
        ]
    )
    func refused(url: String) async {
        let error = await #expect(throws: ExperimentationError.self) { _ = try await PostgresStore.open(url) }
        #expect(error?.code == .configuration)
        #expect(error.map { "\($0)".contains("s3cret") } == false)
    }

    @Test("a missing database is an error with a code, and no message contains the password")
    func unreachable() async {
        let url = "postgresql://app:s3cret@127.0.0.1:1/app?sslmode=disable"
        let error = await #expect(throws: ExperimentationError.self) { _ = try await PostgresStore.open(url) }
        #expect(error?.code == .store)
        #expect(error.map { "\($0)".contains("s3cret") } == false)
    }

    @Test("stores over one schema have the same contents, and one over another schema has its own")
    func contents() async throws {
        let schema = newSchema()
        let stores = [try await opened(schema), try await opened(schema), try await opened()]
        let ids = stores.map(\.outbox.contentsID)
        #expect(ids[0] != nil && ids[0] == ids[1] && ids[0] != ids[2])
        for store in stores { await store.close() }
    }

    @Test("a schema that is dropped and created again counts as other contents")
    func madeAnew() async throws {
        let schema = newSchema()
        let old = try await opened(schema)
        await old.close()
        try PostgresServer.shared.ask("DROP SCHEMA \(schema) CASCADE")
        let new = try await opened(schema)
        #expect(new.outbox.contentsID != old.outbox.contentsID)
        await new.close()
    }

    @Test("a store of a newer version, or with another number of shards, is left unchanged")
    func versions() async throws {
        let schema = newSchema()
        try await opened(schema, shards: 4).close()
        let other = await #expect(throws: ExperimentationError.self) { _ = try await opened(schema, shards: 8) }
        #expect(other?.code == .configuration)
        try PostgresServer.shared.ask("UPDATE \(schema).store SET version = 99")
        let newer = await #expect(throws: ExperimentationError.self) { _ = try await opened(schema, shards: 4) }
        #expect(newer?.code == .store)
        #expect(try PostgresServer.shared.ask("SELECT version FROM \(schema).store") == "99\n")
    }

    @Test("a store of the first version is upgraded in place, and keeps its contents")
    func upgrade() async throws {
        let schema = newSchema()
        let store = try await opened(schema, shards: 4)
        let home = Destination(provider: "home", scope: "")
        let event = Envelope(id: "a", identity: Identity(id: "u"), event: .custom("x"), date: Date())
        #expect(try await store.outbox.append([NewEvent(event, to: home)], now: Date()) == [nil])
        try await store.state.setValue([7], for: "k")
        await store.close()
        // As the first version left it.
        let server = try PostgresServer.shared
        try server.ask(
            """
            DROP TABLE \(schema).leader, \(schema).published, \(schema).incarnation;
            UPDATE \(schema).store SET version = 1
            """
        )
        // Two instances of the new version at once.
        async let first = opened(schema, shards: nil)
        async let second = opened(schema, shards: nil)
        let stores = [try await first, try await second]
        #expect(try server.ask("SELECT version, shards FROM \(schema).store") == "3|4\n")
        #expect(try await stores[0].outbox.waiting(after: 0, limit: 9).map(\.envelope.id) == ["a"])
        #expect(try await stores[1].state.value(for: "k") == [7])
        let board = RulesBoard(stores[1].pool, name: "a")
        #expect(try await board.setDisabled(true))
        for store in stores { await store.close() }
    }

    @Test("opening waits for a machine that is creating the tables, longer than another operation would")
    func patient() async throws {
        let server = try PostgresServer.shared
        let schema = newSchema()
        let lock = try HeldLock(openingOf: schema, at: server)
        async let store = opened(schema, patience: .seconds(3))
        try await eventually("opening has waited longer than its patience", within: .seconds(60)) {
            try server.ask(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE \(lock.holder) = ANY (pg_blocking_pids(pid)) AND clock_timestamp() - query_start > '3500 ms'
                """
            ) == "1\n"
        }
        try lock.release()
        try await store.close()
    }

    @Test("opening the tables doesn't extend the time for which the server keeps the locks of a client that is gone")
    func limits() async throws {
        let store = try await opened(patience: .seconds(30))
        let row = try await store.pool.transaction(.repeatable, within: .seconds(90)) {
            transaction throws(ConnectionFailure) in
            try transaction.rows(
                Statement(
                    """
                    SELECT current_setting('statement_timeout'), current_setting('lock_timeout'),
                      current_setting('idle_in_transaction_session_timeout')
                    """
                )
            )[0]
        }
        #expect(row.cells == ["90s", "90s", "30s"].map { Array($0.utf8) })
        await store.close()
        #expect(PostgresStoreOptions().openingLimit == .seconds(60))
        #expect(PostgresStoreOptions(patience: .seconds(90)).openingLimit == .seconds(90))
    }

    @Test("a role that may create nothing but tables in its own schema can open a new store there")
    func restricted() async throws {
        let server = try PostgresServer()
        defer { server.stop() }
        try server.ask("CREATE ROLE app LOGIN; CREATE SCHEMA prepared AUTHORIZATION app")
        let url = server.url.replacing("user=postgres", with: "user=app")
        let store = try await PostgresStore.open(url, options: PostgresStoreOptions(schema: "prepared"))
        try await store.state.setValue([1], for: "k")
        #expect(try await store.state.value(for: "k") == [1])
        await store.close()
        let error = await #expect(throws: ExperimentationError.self) {
            _ = try await PostgresStore.open(url, options: PostgresStoreOptions(schema: "missing"))
        }
        #expect(error?.message.contains("42501") == true)
    }

    @Test("a database is reached with TLS, and one with another certificate isn't")
    func encrypted() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
        let own = try PostgresServer.Certificate(in: folder.appendingPathComponent("own"))
        let other = try PostgresServer.Certificate(in: folder.appendingPathComponent("other"))
        let server = try PostgresServer(certificate: own)
        defer { server.stop() }
        let url = "postgresql://postgres@localhost:\(server.port)/postgres?sslmode=verify-full&sslrootcert="
        let store = try await PostgresStore.open(url + own.path)
        try await store.state.setValue([1], for: "k")
        #expect(try await store.state.value(for: "k") == [1])
        let encrypted = try server.ask("SELECT count(*) > 0 FROM pg_stat_ssl WHERE ssl AND pid <> pg_backend_pid()")
        #expect(encrypted == "t\n")
        await store.close()
        let error = await #expect(throws: ExperimentationError.self) {
            _ = try await PostgresStore.open(url + other.path)
        }
        #expect(error?.code == .store)
    }

    @Test(
        "invalid options are refused",
        arguments: [
            PostgresStoreOptions(schema: "a\"b"), PostgresStoreOptions(schema: ""),
            PostgresStoreOptions(connections: 0),
            PostgresStoreOptions(shards: 257), PostgresStoreOptions(patience: .zero),
        ]
    )
    func options(_ options: PostgresStoreOptions) async throws {
        let url = try PostgresServer.shared.url
        let error = await #expect(throws: ExperimentationError.self) {
            _ = try await PostgresStore.open(url, options: options)
        }
        #expect(error?.code == .configuration)
    }
}
