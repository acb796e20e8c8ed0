import Experimentation
import Foundation
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import SigmaAdapter

@Suite("What a client keeps for the next one")
struct SuccessorTests {
    private func properties(_ client: SigmaClient) async throws -> [String: String] {
        let context = await client.profile.evaluated().context
        return context.user.attributes.values.compactMapValues(\.stringValue)
    }

    @Test("the user that a client begins with is stored, even if the client is never called")
    func initialUser() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user("u-7"))
        await client.saved()
        #expect(try await properties(stage.client())["userId"] == "u-7")
    }

    @Test("a client waits for data that a removed client of its tag is still storing", arguments: [false, true])
    func removed(isOneBetween: Bool) async throws {
        let stage = try Stage()
        let store = ProfileTests.Holding()
        let registry = SigmaClientRegistry()
        func client(_ user: SigmaUser? = nil) throws -> SigmaClient {
            var options = stage.options
            options.store = store
            return try registry.initializeClient(projectToken: SigmaMock.token, initialUser: user, options: options)
        }
        try client(stage.user("u-7")).editUserProperties { $0.setEmail("ada@example.com") }
        try await eventually("a held write") { store.isHolding }
        registry.removeClient()
        if isOneBetween {
            _ = try client()
            registry.removeClient()
        }
        let next = try client()
        let hasRead = AsyncGate()
        async let reading = {
            defer { hasRead.open() }
            return try await properties(next)
        }()
        for _ in 0..<1_000 { await Task.yield() }
        #expect(!hasRead.isOpen)
        store.letGo()
        let known = try await reading
        #expect(known["userId"] == "u-7")
        #expect(known["email"] == "ada@example.com")
        next.editUserProperties { $0.setOsName("Other") }
        await next.saved()
        registry.removeClient()
        #expect(try await properties(client())["os.name"] == "Other")
    }

    /// Holds back what the first read has found.
    final class HeldRead: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let gate = AsyncGate()
        private let reads = Atomic(0)

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            let found = try await baseState.value(for: key)
            if reads.add(1, ordering: .relaxed).oldValue == 0 { await gate.wait() }
            return found
        }
    }

    @Test("a new installation has one generated id, though its first client is removed before it has read the store")
    func removedEarly() async throws {
        let stage = try Stage()
        let store = HeldRead()
        defer { store.gate.open() }
        let numbers = Atomic(0)
        let registry = SigmaClientRegistry()
        func client() throws -> SigmaClient {
            var options = stage.options
            options.store = store
            // Each id has a letter of its own.
            options.environment.jitter = { Double(numbers.add(1, ordering: .relaxed).oldValue / 80 % 60) / 62 }
            return try registry.initializeClient(projectToken: SigmaMock.token, options: options)
        }
        let first = try client()
        async let drawn = first.profile.privateID()
        try await eventually("a held read") { store.gate.waiting == 1 }
        registry.removeClient()
        let second = try client()
        async let known = second.profile.privateID()
        for _ in 0..<1_000 { await Task.yield() }
        store.gate.open()
        #expect(await drawn == known)
        await second.saved()
        registry.removeClient()
        #expect(await drawn == (try client().profile.privateID()))
    }
}
