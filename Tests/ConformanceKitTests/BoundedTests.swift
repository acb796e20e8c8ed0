import ConformanceKit
import Synchronization
import Testing

@Suite("Work with a time limit")
struct BoundedTests {
    @Test("work that advances gets another limit, up to four altogether")
    func advancing() async { #expect(await questions { $0 } == 1 + Bounded.mostLimits) }

    @Test("work that makes no progress, or doesn't report any, gets one limit", arguments: [7, nil])
    func standing(progress: Int?) async { #expect(await questions { _ in progress } == 2) }

    @Test("work that ends in time returns its result, and what it throws is thrown")
    func ending() async throws {
        #expect(try await Bounded.run(for: .seconds(600)) { "done" } == "done")
        await #expect(throws: CancellationError.self) {
            try await Bounded.run(for: .seconds(600)) { throw CancellationError() }
        }
    }

    /// How often work that never ends is asked how far it has come: at its beginning, and after each limit.
    private func questions(_ progress: @escaping @Sendable (_ question: Int) -> Int?) async -> Int {
        let asked = Mutex(0)
        let ask: @Sendable () -> Int? = {
            progress(
                asked.withLock { asked in
                    asked += 1
                    return asked
                }
            )
        }
        await #expect(throws: Bounded.TimeIsUp.self) {
            try await Bounded.run(for: .milliseconds(1), while: ask) {
                for await _ in AsyncStream<Never>.makeStream().stream {}
            }
        }
        return asked.withLock { $0 }
    }
}
