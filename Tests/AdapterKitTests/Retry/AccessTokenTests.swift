import AdapterKit
import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@Suite("Access tokens", .timeLimit(.minutes(1)))
struct AccessTokenTests {
    /// A vendor that grants numbered tokens, or fails as a test asks it to.
    private final class Vendor: Sendable {
        struct State {
            var requests = 0
            var life: Duration? = .seconds(100)
            var failure: ExperimentationError?
            var wait: Duration?
        }

        let state = Mutex(State())
        var requests: Int { state.withLock(\.requests) }

        func request(_ wait: inout Duration?) throws(ExperimentationError) -> AccessTokens.Grant {
            let now = state.withLock { state in
                state.requests += 1
                return state
            }
            wait = now.wait
            if let failure = now.failure { throw failure }
            return AccessTokens.Grant(Secret("t\(now.requests)"), for: now.life)
        }
    }

    private let time = ManualTime()
    private let vendor = Vendor()

    private func tokens() -> AccessTokens {
        AccessTokens(
            backoff: Backoff(first: .seconds(2), longest: .seconds(8)),
            environment: ClientEnvironment(time: time, jitter: { 1 })
        ) { [vendor] wait throws(ExperimentationError) in try vendor.request(&wait) }
    }

    private func value(_ tokens: AccessTokens, within patience: Duration = .zero) async throws -> String {
        try await tokens.token(until: time.instant.advanced(by: patience)).value.reveal()
    }

    @Test("a token is renewed after three quarters of its life, or when it is refused")
    func renewal() async throws {
        let tokens = tokens()
        #expect(try await value(tokens) == "t1")
        time.advance(by: .seconds(74))
        #expect(try await value(tokens) == "t1")
        time.advance(by: .seconds(1))
        let second = try await tokens.token(until: time.instant)
        #expect(second.value.reveal() == "t2")
        await tokens.reject(second)
        #expect(try await value(tokens) == "t3")
        await tokens.reject(second)
        #expect(try await value(tokens) == "t3", "another one was refused")
    }

    @Test("a token without a length of life stays, and a very short life is lengthened")
    func lives() async throws {
        let tokens = tokens()
        vendor.state.withLock { $0.life = .zero }
        #expect(try await value(tokens) == "t1")
        time.advance(by: .seconds(1))
        #expect(try await value(tokens) == "t1")
        vendor.state.withLock { $0.life = nil }
        time.advance(by: .seconds(1))
        #expect(try await value(tokens) == "t2")
        time.advance(by: .seconds(1_000_000))
        #expect(try await value(tokens) == "t2")
    }

    @Test("callers at the same time share one request")
    func shared() async throws {
        let tokens = tokens()
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await value(tokens) } }
            for try await value in group { #expect(value == "t1") }
        }
        #expect(vendor.requests == 1)
    }

    @Test("after failures the vendor is asked at growing intervals, and not before the time that it asks for")
    func failures() async throws {
        let tokens = tokens()
        vendor.state.withLock { $0.failure = ExperimentationError(.transport, "away") }
        for (pause, requests) in [(Duration.zero, 1), (.seconds(1), 1), (.seconds(1), 2), (.seconds(4), 3)] {
            time.advance(by: pause)
            await #expect(throws: ExperimentationError.self) { try await value(tokens) }
            #expect(vendor.requests == requests)
        }
        #expect(await tokens.patience == nil)
        vendor.state.withLock { $0.wait = .seconds(60) }
        time.advance(by: .seconds(8))
        await #expect(throws: ExperimentationError.self) { try await value(tokens) }
        #expect(await tokens.patience == .seconds(60))
        vendor.state.withLock { $0.failure = nil }
        time.advance(by: .seconds(59))
        await #expect(throws: ExperimentationError.self) { try await value(tokens) }
        time.advance(by: .seconds(1))
        #expect(try await value(tokens) == "t5")
        #expect(await tokens.patience == nil)
    }

    @Test("a token that is due but hasn't expired is used while there is no new one")
    func due() async throws {
        let tokens = tokens()
        #expect(try await value(tokens) == "t1")
        vendor.state.withLock { $0.failure = ExperimentationError(.unauthorized, "no") }
        time.advance(by: .seconds(80))
        #expect(try await value(tokens) == "t1")
        time.advance(by: .seconds(20))
        let error = await #expect(throws: ExperimentationError.self) { try await value(tokens) }
        #expect(error?.code == .unauthorized)
    }

    @Test("a caller with patience waits for the next attempt")
    func patient() async throws {
        let tokens = tokens()
        vendor.state.withLock { $0.failure = ExperimentationError(.timeout, "late") }
        let waiting = Task { try await value(tokens, within: .seconds(5)) }
        await time.waitForSleepers(1)
        vendor.state.withLock { $0.failure = nil }
        time.advance(by: .seconds(2))
        #expect(try await waiting.value == "t2")
    }
}
