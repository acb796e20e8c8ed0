import ConformanceKit
import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@Suite("A provider's context")
struct ProviderContextTests {
    /// Records the context that it is started in.
    private final class CuriousProvider: ExperimentationProvider {
        let name = "curious"
        let scope: String
        let capabilities: Set<Capability> = []
        private let seen = Mutex<ProviderContext?>(nil)

        init(_ scope: String) { self.scope = scope }

        var context: ProviderContext? { seen.withLock { $0 } }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            seen.withLock { $0 = context }
            var roles = ProviderRoles()
            roles.extras = scope
            return roles
        }
    }

    @Test("its part of the store follows the store contract")
    func contract() async {
        let report = await StateStoreContract.run(
            over: StoreBench { _ in
                ProviderContext(of: CuriousProvider("one"), in: InMemoryStateStore(), ClientEnvironment()).state
            }
        )
        #expect(report.failures == [])
        #expect(report.run == StateStoreContract.cases(features: []).map(\.id))
    }

    @Test("a key is listed as it was written, even if it begins with a combining mark")
    func combiningMarks() async throws {
        let store = ProviderContext(of: CuriousProvider("one"), in: InMemoryStateStore(), ClientEnvironment()).state
        try await store.setValue([1], for: "\u{301}x")
        let keys = try await store.keys(beginningWith: "")
        #expect(keys.map { Array($0.unicodeScalars) } == [["\u{301}", "x"]])
        #expect(try await store.keys(beginningWith: "\u{301}") == keys)
    }

    @Test("two accounts in one store neither see nor remove each other's state, or the client's")
    func apart() async throws {
        let store = InMemoryStateStore()
        let one = ProviderContext(of: CuriousProvider("one"), in: store, ClientEnvironment()).state
        let two = ProviderContext(of: CuriousProvider("two"), in: store, ClientEnvironment()).state
        try await store.setValue([0], for: "profile")
        try await one.setValue([1], for: "profile")
        #expect(try await two.value(for: "profile") == nil)
        #expect(try await two.update("profile", to: [2], if: nil) == .updated)
        #expect(try await one.keys(beginningWith: "") == ["profile"])
        try await two.removeAll(beginningWith: "")
        #expect(try await one.value(for: "profile") == [1])
        #expect(try await store.value(for: "profile") == [0])
        #expect(try await store.keys(beginningWith: "").count == 2)
    }

    @Test("it has the client's clock, ids and randomness, and the extras that it was given")
    func environment() async throws {
        let time = ManualTime()
        let provider = CuriousProvider("one")
        let client = try await ExperimentationClient(
            provider: provider,
            environment: ClientEnvironment(time: time, makeID: { "id" }, jitter: { 0.25 })
        )
        time.advance(by: .seconds(60))
        let context = try #require(provider.context)
        #expect(context.environment.time.now == time.now)
        #expect(context.environment.makeID() == "id" && context.environment.jitter() == 0.25)
        #expect(client.extras as? String == "one")
        await client.shutdown()
    }
}
