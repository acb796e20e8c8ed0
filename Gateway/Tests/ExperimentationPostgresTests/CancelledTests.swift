import Experimentation
import ExperimentationPostgres
import Foundation
import GatewayWaiting
import PostgresServers
import Testing

private let start = Date(timeIntervalSince1970: 1_795_262_400)
private let home = Destination(provider: "home", scope: "")

private func event(_ id: String) -> NewEvent {
    NewEvent(Envelope(id: id, identity: Identity(id: "u"), event: .custom("x"), date: start), to: home)
}

@Suite("Callers that are cancelled", .serialized)
struct CancelledTests {
    /// Runs work in a task that is cancelled before it begins.
    private static func cancelled<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await work()
        }.value
    }

    @Test("every operation of a cancelled task is carried out, and its outcome reported")
    func before() async throws {
        let store = try await opened()
        #expect(try await Self.cancelled { try await store.outbox.append([event("a")], now: start) } == [nil])
        let request = LeaseRequest(for: home, owner: 1, of: 5, now: start, until: start + 60)
        let answer = try await Self.cancelled { try await store.outbox.lease(request) }
        guard case .leased(let lease) = answer, let envelope = lease.batches.first?.first else {
            Issue.record("nothing was leased: \(answer)")
            return
        }
        _ = try await Self.cancelled {
            try await store.outbox.settle([Settlement(of: envelope, .delivered)], under: lease.token, now: start)
        }
        try await Self.cancelled { try await store.outbox.release(lease.token, pause: nil, now: start) }
        #expect(try await store.outbox.ledger(of: home) == Ledger(accepted: 1, delivered: 1))
        #expect(try await Self.cancelled { try await store.state.update("k", to: [1], if: nil) } == .updated)
        try await Self.cancelled { try await store.state.setValue([2], for: "k") }
        #expect(try await Self.cancelled { try await store.state.value(for: "k") } == [2])
        await store.close()
    }

    @Test("a task that is cancelled while the server is paused still learns the outcome of its events")
    func meanwhile() async throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let store = try await PostgresStore.open(
            server.url,
            options: PostgresStoreOptions(connections: 1, patience: .seconds(60))
        )
        _ = try await store.outbox.append([event("before")], now: start)
        try server.pause(true)
        // The second one waits for the connection.
        let tasks = ["first", "second"].map { id in Task { try await store.outbox.append([event(id)], now: start) } }
        try await pause(.milliseconds(200))
        for task in tasks { task.cancel() }
        try await pause(.milliseconds(200))
        try server.pause(false)
        for task in tasks { #expect(try await task.value == [nil]) }
        let ids = try await store.outbox.waiting(after: 0, limit: 9).map(\.envelope.id)
        #expect(Set(ids) == ["before", "first", "second"])
        await store.close()
    }
}
