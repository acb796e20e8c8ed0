import Experimentation
import PostgresServers
import Testing

@testable import ExperimentationPostgres

@Suite("Leader election for fetching rules")
struct RulesBoardTests {
    private static func row(_ body: [UInt8], revision: Int64) -> PublishedRow {
        var row = PublishedRow()
        row.body = body
        row.revision = revision
        return row
    }

    private static func term(of board: RulesBoard) async throws -> LeaderTerm {
        try #require(await board.lead(for: .seconds(60), if: { _ in true }))
    }

    @Test("one instance leads at a time, and results after an expired lease are discarded")
    func fencing() async throws {
        let schema = newSchema()
        let store = try await opened(schema)
        let (first, second) = (RulesBoard(store.pool, name: "a"), RulesBoard(store.pool, name: "a"))
        let old = try await Self.term(of: first)
        #expect(try await second.lead(for: .seconds(60), if: { _ in true })?.epoch == nil)
        try PostgresServer.shared.ask("UPDATE \(schema).leader SET until = clock_timestamp()")
        let new = try await Self.term(of: second)
        #expect(new.epoch == old.epoch + 1)
        #expect(try await first.publish(Self.row([1], revision: 1), under: old)?.body == nil)
        #expect(try await second.look()?.body == nil)
        #expect(try await second.publish(Self.row([2], revision: 1), under: new)?.body == [2])
        // The lease is released with the outcome.
        let next = try await Self.term(of: first)
        #expect(next.epoch == new.epoch + 1)
        #expect(next.before?.body == [2])
        #expect(try await second.publish(Self.row([3], revision: 2), under: new)?.body == nil)
        #expect(try await first.look()?.body == [2])
        await store.close()
    }

    @Test("of many concurrent instances one leads, and none if the rules are fresh under the lock")
    func one() async throws {
        let store = try await opened(connections: 8)
        let boards = (0..<8).map { _ in RulesBoard(store.pool, name: "a") }
        let terms = try await withThrowingTaskGroup { group in
            for board in boards { group.addTask { try await board.lead(for: .seconds(60), if: { $0?.body == nil }) } }
            var terms: [LeaderTerm] = []
            for try await term in group { if let term { terms.append(term) } }
            return terms
        }
        #expect(terms.count == 1)
        let term = try #require(terms.first)
        _ = try await boards[0].publish(Self.row([1], revision: 1), under: term)
        #expect(try await boards[1].lead(for: .seconds(60), if: { $0?.body == nil })?.epoch == nil)
        await store.close()
    }

    @Test("the kill switch and the revision change once, separately for each account")
    func killSwitch() async throws {
        let store = try await opened()
        let (board, other) = (RulesBoard(store.pool, name: "a"), RulesBoard(store.pool, name: "b"))
        #expect(try await board.setDisabled(true))
        #expect(try await !board.setDisabled(true))
        #expect(try await board.look()?.isDisabled == true)
        #expect(try await board.look()?.revision == 1)
        #expect(try await board.setDisabled(false))
        #expect(try await board.look()?.revision == 2)
        #expect(try await other.look()?.body == nil)
        await store.close()
    }

    @Test("a kill switch met while rules are fetched stays on, and the revision never goes back", arguments: [0, 1])
    func race(growth: Int64) async throws {
        let store = try await opened()
        let (leader, deliverer) = (RulesBoard(store.pool, name: "a"), RulesBoard(store.pool, name: "a"))
        _ = try await leader.publish(Self.row([1], revision: 5), under: try await Self.term(of: leader))
        let term = try await Self.term(of: leader)
        #expect(try await deliverer.setDisabled(true))
        let published = try #require(
            await leader.publish(Self.row([2], revision: 5 + growth), under: term)
        )
        #expect(published.isDisabled)
        #expect(published.revision == 6 + growth)
        #expect(published.body == [2])
        // The vendor's next answer counts.
        let next = try await Self.term(of: leader)
        let lifted = try #require(await leader.publish(Self.row([2], revision: published.revision + 1), under: next))
        #expect(!lifted.isDisabled)
        #expect(lifted.revision == published.revision + 1)
        await store.close()
    }
}
