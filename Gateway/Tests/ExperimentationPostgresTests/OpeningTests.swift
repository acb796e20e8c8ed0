import Experimentation
import ExperimentationPostgres
import Foundation
import PostgresServers
import Testing

@Suite("Opening a database")
struct OpeningTests {
    @Test(
        "a password is never sent in clear text, and no message repeats the address",
        arguments: [
            "postgresql://app:s3cret@db.example/app", "postgresql://app:s3cret@db.example/app?sslmode=prefer",
            "postgresql://app:s3cret@127.0.0.1.example/app", "host=10.0.0.1 password=s3cret sslmode=disable",
            "postgresql://app:s3cret@127.0.0.1,db.example/app", "postgresql://app:s3cret@[::1/app", "s3cret",
            "postgresql://app:s3cret@/app?s3cret=1", "postgresql://app:s3cret@localhost/app?hostaddr=10.0.0.1",
            "service=far password=s3cret",
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
