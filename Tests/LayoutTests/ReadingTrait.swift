import Testing
import Waiting

/// Runs tests that read the whole package on a thread of their own, because that takes seconds.
struct ReadingTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await besideThePool { try await function() }
    }
}

extension Trait where Self == ReadingTrait {
    /// The tests read the whole package.
    static var readsThePackage: Self { ReadingTrait() }
}
