import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing

@Suite("A file that another connection keeps locked", .serialized)
struct LockedFileTests {
    private let folder = TemporaryFolder()

    private func time(_ body: () async -> Void) async -> Duration {
        let start = ContinuousClock.now
        await body()
        return ContinuousClock.now - start
    }

    @Test("verdicts that couldn't be stored are kept and settled later, in any order")
    func settledAgain() async throws {
        let store = try SQLiteStore(at: folder.file(), options: .init(busyTimeout: .milliseconds(10)))
        try await store.append((1...6).map { .sample("\($0)") })
        let lease = try #require(try await store.take())
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.file().path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        await #expect(throws: ExperimentationError.self) { try await store.settle(lease) }
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        let settlements = [6, 5, 1, 2, 4, 3].map { Settlement(of: lease.events[$0 - 1], .delivered) }
        #expect(try await store.settle(settlements, under: lease.token, now: noon))
        #expect(try await store.ledger() == Ledger(accepted: 6, delivered: 6))
    }

    @Test("any number of callers wait for the lock only once, and each gets the reason")
    func waitTogether() async throws {
        let store = try SQLiteStore(at: folder.file(), options: .init(busyTimeout: .milliseconds(200)))
        try await store.append([.sample("before")])
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.file().path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }

        let alone = await time { _ = try? await store.append([.sample("alone")]) }
        var refused = 0
        let together = await time {
            refused = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<24 {
                    group.addTask {
                        do throws(ExperimentationError) {
                            try await store.append([.sample("\(number)")])
                            return false
                        } catch {
                            return error.code == .store && error.message.hasSuffix("another process keeps it locked.")
                        }
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
        }
        #expect(refused == 24)
        // The first attempt may have started before the others arrived.
        #expect(together < alone * 6, "\(together) together, \(alone) alone")

        try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await store.append([.sample("after")])
        #expect(try await store.deliverable() == ["before", "after"])
    }

    @Test("a store can be inspected meanwhile, even beside callers that wait for the lock")
    func looking() async throws {
        let store = try SQLiteStore(at: folder.file(), options: .init(busyTimeout: .milliseconds(50)))
        try await store.append([.sample("before")])
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.file().path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        let expected = Ledger(accepted: 1, pending: 1)
        let ledgers = await withTaskGroup(of: Ledger?.self) { group in
            for number in 0..<24 {
                group.addTask {
                    if number.isMultiple(of: 2) { return try? await store.ledger() }
                    try? await store.append([.sample("\(number)")])
                    return expected
                }
            }
            return await group.reduce(into: [Ledger?]()) { $0.append($1) }
        }
        #expect(ledgers == Array(repeating: expected, count: 24))
        try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
    }
}
