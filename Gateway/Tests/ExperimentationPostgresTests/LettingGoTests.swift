import Experimentation
import ExperimentationPostgres
import Foundation
import GatewayWaiting
import PostgresServers
import Testing

private let start = Date(timeIntervalSince1970: 1_795_262_400)
private let home = Destination(provider: "home", scope: "")

@Suite("A store that has released its lanes")
struct LettingGoTests {
    private static func request(_ owner: Int64) -> LeaseRequest {
        LeaseRequest(for: home, owner: owner, of: 5, now: start, until: start + 60)
    }

    @Test("takes no lane afterward, so that other stores needn't wait for a lease to expire")
    func late() async throws {
        let (schema, server) = (newSchema(), try PostgresServer.shared)
        let (store, other) = (try await opened(schema), try await opened(schema))
        let event = Envelope(id: "a", identity: Identity(id: "u"), event: .custom("x"), date: start)
        #expect(try await store.outbox.append([NewEvent(event, to: home)], now: start) == [nil])
        let table = "\"\(schema)\".lane"
        let lock = try await ownThread { try HeldLock(lockingRowsOf: table, at: server) }
        let lease = Task { try await store.outbox.lease(Self.request(1)) }
        try await eventually("the lane is asked for") {
            try server.ask("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '\(table)'::regclass")
                == "1\n"
        }
        await store.close()
        try lock.release()
        let error = await #expect(throws: ExperimentationError.self) { try await lease.value }
        #expect(error?.code == .store)
        guard case .leased = try await other.outbox.lease(Self.request(2)) else {
            Issue.record("The lane is held by a store that is closed.")
            return
        }
        await other.close()
    }
}
