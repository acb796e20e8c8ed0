import Experimentation
import Foundation
import PostgresServers
import Testing

@testable import ExperimentationPostgres

@Suite("Numbers of destinations")
struct DestinationTableTests {
    private let home = Destination(provider: "home", scope: "")
    private let date = Date(timeIntervalSince1970: 1_795_262_400)

    /// Makes each transaction that creates a destination fail at its commit, after all its statements have succeeded.
    private func refuseCommits(in schema: String) throws {
        try PostgresServer.shared.ask(
            """
            CREATE FUNCTION \(schema).refuse() RETURNS trigger LANGUAGE plpgsql
              AS $$ BEGIN RAISE EXCEPTION 'refused at the commit'; END $$;
            CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON \(schema).destination DEFERRABLE INITIALLY DEFERRED
              FOR EACH ROW EXECUTE FUNCTION \(schema).refuse();
            """
        )
    }

    private func acceptCommits(in schema: String) throws {
        try PostgresServer.shared.ask("DROP TRIGGER refuse ON \(schema).destination")
    }

    @Test("a number that was rolled back at the commit isn't remembered")
    func rolledBack() async throws {
        let schema = newSchema()
        let store = try await opened(schema)
        let table = DestinationTable(store.pool)
        try refuseCommits(in: schema)
        let error = await #expect(throws: ExperimentationError.self) { try await table.name([home]) }
        #expect(error?.message.contains("refused at the commit") == true, "\(String(describing: error))")
        #expect(table.number(of: home) == nil)

        try acceptCommits(in: schema)
        try await table.name([home])
        // The first number is used up, so a remembered one would differ.
        #expect(try PostgresServer.shared.ask("SELECT id FROM \(schema).destination") == "2\n")
        #expect(table.number(of: home) == 2)
        await store.close()
    }

    @Test("an event accepted after a destination's commit failed is delivered")
    func delivered() async throws {
        let schema = newSchema()
        let store = try await opened(schema)
        func append(_ id: String) async throws -> [ExperimentationError?] {
            let envelope = Envelope(id: id, identity: Identity(id: "u"), event: .custom("x"), date: date)
            return try await store.outbox.append([NewEvent(envelope, to: home)], now: date)
        }
        try refuseCommits(in: schema)
        await #expect(throws: ExperimentationError.self) { _ = try await append("first") }
        try acceptCommits(in: schema)
        #expect(try await append("second") == [nil])
        #expect(try await store.outbox.ledger(of: home) == Ledger(accepted: 1, pending: 1))
        await store.close()
    }
}
