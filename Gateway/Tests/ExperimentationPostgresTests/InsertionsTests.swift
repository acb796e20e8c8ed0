import Experimentation
import PostgresServers
import Testing

@testable import ExperimentationPostgres

@Suite("Values inserted under absent keys, several in one transaction")
struct InsertionsTests {
    @Test("of many concurrent callers that insert under the same key, one succeeds, and all others get its value")
    func first() async throws {
        let schema = newSchema()
        let stores = [try await opened(schema, connections: 4), try await opened(schema, connections: 4)]
        typealias Told = (key: Int, caller: UInt8, update: StateUpdate)
        let updates = try await withThrowingTaskGroup(of: Told.self) { group in
            for caller in 0..<8 {
                for key in 0..<100 {
                    // Each caller starts at another key.
                    let key = (key + 13 * caller) % 100
                    group.addTask {
                        let update = try await stores[caller % 2].state.update("k\(key)", to: [UInt8(caller)], if: nil)
                        return (key, UInt8(caller), update)
                    }
                }
            }
            var updates: [Int: [(caller: UInt8, update: StateUpdate)]] = [:]
            for try await each in group { updates[each.key, default: []].append((each.caller, each.update)) }
            return updates
        }
        #expect(updates.count == 100)
        for (key, updates) in updates {
            let winners = updates.filter { $0.update == .updated }.map(\.caller)
            #expect(winners.count == 1, "\(key)")
            let others = updates.filter { $0.update != .updated }.map(\.update)
            #expect(others == Array(repeating: .conflict(winners), count: 7), "\(key)")
            #expect(try await stores[0].state.value(for: "k\(key)") == winners)
        }
        // Fewer transactions than values, which is the purpose.
        let commits = try PostgresServer.shared.ask("SELECT count(DISTINCT xmin::text) FROM \(schema).state")
        #expect(Int(commits.dropLast()).map { $0 < 100 } == true, "\(commits)")
        for store in stores { await store.close() }
    }

    @Test("a lost commit is looked up, and its own insertions aren't taken for another's")
    func lostCommit() async throws {
        let relay = try CuttingRelay(to: try PostgresServer.shared)
        defer { relay.stop() }
        let store = try await PostgresStore.open(
            relay.url,
            options: PostgresStoreOptions(schema: newSchema(), connections: 2, patience: .seconds(30))
        )
        relay.cut(1)
        try await withThrowingTaskGroup(of: StateUpdate.self) { group in
            for key in 0..<50 { group.addTask { try await store.state.update("k\(key)", to: [1], if: nil) } }
            for try await update in group { #expect(update == .updated) }
        }
        #expect(relay.cutsLeft == 0)
        await store.close()
    }
}
