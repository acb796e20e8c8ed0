import Experimentation
import Foundation
import PostgresServers
import Testing

@testable import ExperimentationPostgres

@Suite("A database that crashes", .serialized)
struct CrashTests {
    @Test(
        "a reported commit counts only if the server's word is the same as when the transaction began",
        arguments: [
            ("committed", [1], [1], .committed), ("committed", [1], [2], .unknown), ("committed", [1], nil, .unknown),
            ("committed", nil, [1], .unknown), ("committed", nil, nil, .unknown), (nil, [1], [1], .unknown),
            ("aborted", [1], [1], .absent), ("aborted", [1], [2], .absent), ("aborted", nil, nil, .absent),
            ("in progress", [1], [1], .open), ("in progress", [1], [2], .open),
        ] as [(String?, [UInt8]?, [UInt8]?, TransactionMark.Outcome)]
    )
    func outcomes(status: String?, began: [UInt8]?, present: [UInt8]?, outcome: TransactionMark.Outcome) {
        #expect(TransactionMark(number: 7, word: began).outcome(status, word: present) == outcome)
    }

    /// The mark of a transaction that writes nothing.
    private static func mark(_ store: PostgresStore) async throws -> TransactionMark? {
        try await store.pool.transaction { transaction throws(ConnectionFailure) in
            _ = try transaction.rows(Statement("SELECT 1"))
            return transaction.mark
        }
    }

    @Test("a restart keeps the server's word; a crash erases it, and the next transaction sets a new one")
    func words() async throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let store = try await PostgresStore.open(
            server.url,
            options: PostgresStoreOptions(connections: 1, patience: .seconds(60))
        )
        let first = try #require(try await Self.mark(store)?.word)
        try await server.restart()
        #expect(try await Self.mark(store)?.word == first)
        try await server.restart(asCrash: true)
        // The second transaction is the first that finds the word.
        let words = [try await Self.mark(store)?.word, try await Self.mark(store)?.word]
        #expect(words[0] == nil)
        #expect(words[1]?.count == 16)
        #expect(words[1] != first)
        await store.close()
    }

    @Test("a commit that the server reports after a crash may be another transaction's, and is an error")
    func forgotten() async throws {
        let server = try PostgresServer.shared
        let relay = try CuttingRelay(to: server)
        defer { relay.stop() }
        let schema = newSchema()
        let store = try await PostgresStore.open(
            relay.url,
            options: PostgresStoreOptions(schema: schema, connections: 1, patience: .seconds(30))
        )
        relay.cut(1)
        let error = await #expect(throws: ExperimentationError.self) {
            try await store.pool.transaction { transaction throws(ConnectionFailure) in
                _ = try transaction.rows(Statement("SELECT 1"))
                // As if the server crashed after the commit, and assigned the id to another transaction.
                _ = try? server.ask("UPDATE \(schema).incarnation SET word = gen_random_uuid()")
            }
        }
        #expect(relay.cutsLeft == 0)
        #expect(error?.code == .store)
        #expect(error?.message.contains("recovered from a crash") == true)
        try await store.state.setValue([1], for: "k")
        #expect(try await store.state.value(for: "k") == [1])
        await store.close()
    }
}
