import Experimentation
import ExperimentationPostgres
import Foundation
import PostgresServers
import Testing

private let start = Date(timeIntervalSince1970: 1_795_262_400)
private let home = Destination(provider: "home", scope: "")

private func event(_ id: String) -> NewEvent {
    NewEvent(Envelope(id: id, identity: Identity(id: "u"), event: .custom("x"), date: start), to: home)
}

@Suite("A database that is away", .serialized)
struct OutageTests {
    @Test("a stopped server causes a timely error rather than a blocked thread, and the store recovers with it")
    func paused() async throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let store = try await PostgresStore.open(
            server.url,
            options: PostgresStoreOptions(connections: 2, patience: .seconds(4))
        )
        _ = try await store.outbox.append([event("before")], now: start)
        try server.pause(true)
        let error = await #expect(throws: ExperimentationError.self) {
            _ = try await store.outbox.append([event("meanwhile")], now: start)
        }
        #expect(error?.code == .store)
        try server.pause(false)
        // Operations in progress at that moment may have been carried out: no answer came.
        var isThere = false
        for _ in 0..<100 where !isThere {
            isThere = (try? await store.outbox.append([event("after")], now: start)) != nil
        }
        #expect(isThere)
        let ids = try await store.outbox.waiting(after: 0, limit: 9).map(\.envelope.id)
        #expect(ids.filter { $0 != "meanwhile" } == ["before", "after"])
    }

    @Test("while the server restarts repeatedly, every event is accepted once, as reported to its caller")
    func restarts() async throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let store = try await PostgresStore.open(
            server.url,
            options: PostgresStoreOptions(connections: 4, patience: .seconds(20))
        )
        let accepted = Noted<Set<String>>([])
        let isOver = Noted(false)
        try await withThrowingTaskGroup { group in
            for caller in 0..<4 {
                group.addTask {
                    var number = 0
                    while !isOver.value, !Task.isCancelled {
                        let id = "\(caller)/\(number)"
                        number += 1
                        if (try? await store.outbox.append([event(id)], now: start)) == [nil] {
                            accepted.change { _ = $0.insert(id) }
                        }
                    }
                }
            }
            group.addTask {
                defer { isOver.change { $0 = true } }
                for _ in 0..<4 { try await server.restart() }
            }
            try await group.waitForAll()
        }
        var ids: [String] = []
        var last: Int64 = 0
        while case let page = try await store.outbox.waiting(after: last, limit: 1_000), let end = page.last {
            ids += page.map(\.envelope.id)
            last = end.envelope.sequence
        }
        #expect(Set(ids).count == ids.count)
        #expect(accepted.value.subtracting(ids).isEmpty)
        #expect(try await store.outbox.ledger(of: home) == Ledger(accepted: ids.count, pending: ids.count))
    }

    @Test("a commit whose answer is lost counts once: the server is asked for its outcome")
    func lostCommits() async throws {
        let relay = try CuttingRelay(to: try PostgresServer.shared)
        defer { relay.stop() }
        let store = try await PostgresStore.open(
            relay.url,
            options: PostgresStoreOptions(schema: newSchema(), connections: 1, patience: .seconds(30))
        )
        _ = try await store.outbox.append([event("first")], now: start)
        var ids = ["first"]
        for number in 0..<20 {
            relay.cut(1)
            ids.append("\(number)")
            #expect(try await store.outbox.append([event("\(number)")], now: start) == [nil])
            #expect(relay.cutsLeft == 0)
        }
        #expect(try await store.outbox.waiting(after: 0, limit: 99).map(\.envelope.id) == ids)
        #expect(try await store.outbox.ledger(of: home) == Ledger(accepted: 21, pending: 21))
        relay.cut(1)
        #expect(try await store.state.update("k", to: [1], if: nil) == .updated)
        #expect(try await store.state.value(for: "k") == [1])
    }
}
