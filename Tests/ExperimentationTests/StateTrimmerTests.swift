import ExperimentationTesting
import Synchronization
import Testing

@testable import Experimentation

@Suite("The number of users with stored values is limited", .timeLimit(.minutes(10)))
struct StateTrimmerTests {
    @Test("the most recently written users are kept, and up to an eighth more")
    func bounded() async throws {
        let state = InMemoryStateStore()
        let trimmer = StateTrimmer(state, of: "visitor/", to: 8)
        try await state.setValue([0], for: "other/0")
        for index in 0..<24 {
            try await state.setValue([1], for: "visitor/\(index)")
            await trimmer.trim()
            #expect(try await state.keys(beginningWith: "visitor/").count <= 9)
        }
        let kept = try await state.keys(beginningWith: "visitor/")
        #expect(kept.suffix(8) == (16..<24).map { "visitor/\($0)" })
        #expect(try await state.value(for: "other/0") == [0])
    }

    /// Counts how many values are being removed.
    private final class Watched: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        private let counts = Mutex((now: 0, most: 0))

        var most: Int { counts.withLock(\.most) }

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            defer { counts.withLock { $0.now -= 1 } }
            await Task.yield()
            try await baseState.setValue(value, for: key)
        }
    }

    @Test("a large surplus is removed over several calls, the oldest first and a thousand at once")
    func surplus() async throws {
        let state = Watched()
        for index in 0..<12_500 { try await state.baseState.setValue([1], for: "visitor/\(index)") }
        let trimmer = StateTrimmer(state, of: "visitor/", to: 8_000)
        // The values are listed at the first of a thousand calls and one.
        for left in [10_500, 8_500, 8_000] {
            for _ in 0...1_000 { await trimmer.trim() }
            let kept = try await state.keys(beginningWith: "visitor/")
            #expect(kept == ((12_500 - left)..<12_500).map { "visitor/\($0)" })
        }
        #expect(state.most <= 1_000)
    }
}
