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

    @Test("however many wait for it, they wait once, and each is told why")
    func waitTogether() async throws {
        let store = try SQLiteStore(at: folder.file(), busyTimeout: .milliseconds(200))
        try await store.append([.sample("before")], isHeld: false)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.file().path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }

        let alone = await time { _ = try? await store.append([.sample("alone")], isHeld: false) }
        var refused = 0
        let together = await time {
            refused = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<24 {
                    group.addTask {
                        do throws(ExperimentationError) {
                            try await store.append([.sample("\(number)")], isHeld: false)
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
        // The first may have begun before the others came.
        #expect(together < alone * 6, "\(together) together, \(alone) alone")

        try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await store.append([.sample("after")], isHeld: false)
        #expect(try await store.leaseAll() == ["before", "after"])
    }
}
