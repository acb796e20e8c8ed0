import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import Experimentation

@Suite("A vendor that announces changes")
struct ChangeSourceTests {
    /// A vendor that counts questions and announces changes for a test.
    private final class Vendor: ExperimentationProvider, DecisionSource, ChangeSource {
        let name = "telling"
        let scope = "a"
        let capabilities: Set<Capability> = [.flags]
        let freshness = Freshness()
        let asked = Mutex(0)
        let output = Mutex<AsyncStream<ChangeNotice>.Continuation?>(nil)
        let isClosed = Mutex(false)
        /// What happens while a question is answered.
        struct Meanwhile { var happens: (@Sendable () async -> Void)? }
        let meanwhile = Mutex(Meanwhile())

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            var roles = ProviderRoles(decisions: .asked(self))
            roles.changes = self
            return roles
        }

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            let count = asked.withLock { count in
                count += 1
                return count
            }
            await meanwhile.withLock { $0.happens }?()
            return .decided(Decisions(flags: [(key: "count", resolution: Resolution(.int(count)))]))
        }

        func notices() -> AsyncStream<ChangeNotice> {
            let (stream, continuation) = AsyncStream.makeStream(of: ChangeNotice.self)
            continuation.onTermination = { [weak self] _ in self?.isClosed.withLock { $0 = true } }
            output.withLock { $0 = continuation }
            return stream
        }

        func setApplicationState(_ applicationState: ApplicationState) {}

        func tell(_ notice: ChangeNotice) { _ = output.withLock { $0 }?.yield(notice) }
    }

    @Test("the vendor is asked again for every session, which announces its changes without a refresh")
    func changed() async throws {
        let vendor = Vendor()
        let client = try await ExperimentationClient(provider: vendor)
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        var changes = session.changes.makeAsyncIterator()
        vendor.tell(.changed)
        #expect(await changes.next() == DecisionChange(flags: ["count"], status: .ready))
        #expect(session.int("count", default: 0) == 2)
        await client.shutdown()
    }

    @Test("while the vendor is unreachable, the last values are STALE")
    func unheard() async throws {
        let vendor = Vendor()
        let log = RecordingLog()
        let client = try await ExperimentationClient(provider: vendor, environment: ClientEnvironment(log: log))
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        let error = ExperimentationError(.transport, "away")
        vendor.tell(.unheard(error))
        try await eventually("STALE") { session.status == .stale && client.status == .stale }
        #expect(session.details("count", default: 0).value == 1)
        #expect(session.details("count", default: 0).reason == .stale)
        #expect(log.entries.contains { "\($0)".contains("away") })
        vendor.tell(.changed)
        try await eventually("READY") { session.status == .ready && client.status == .ready }
        #expect(session.details("count", default: 0).value == 2)
        await client.shutdown()
    }

    @Test("an answer requested before the vendor became unreachable is STALE, the next one READY")
    func unheardDuringAnswer() async throws {
        let vendor = Vendor()
        let log = RecordingLog()
        let client = try await ExperimentationClient(provider: vendor, environment: ClientEnvironment(log: log))
        let session = client.session(for: User(id: "u-1"))
        vendor.meanwhile.withLock { meanwhile in
            meanwhile.happens = { [vendor] in
                vendor.tell(.unheard(ExperimentationError(.transport, "away")))
                try? await eventually("the warning") { log.entries.contains { "\($0)".contains("away") } }
            }
        }
        try await session.refresh()
        #expect(session.status == .stale && client.status == .stale)
        #expect(session.details("count", default: 0).value == 1)
        vendor.meanwhile.withLock { $0.happens = nil }
        try await session.refresh(force: true)
        #expect(session.status == .ready && client.status == .ready)
        await client.shutdown()
    }

    @Test("a vendor that is unreachable before there are decisions doesn't change the status")
    func unheardAtFirst() async throws {
        let vendor = Vendor()
        let log = RecordingLog()
        let client = try await ExperimentationClient(provider: vendor, environment: ClientEnvironment(log: log))
        let session = client.session(for: User(id: "u-1"))
        vendor.tell(.unheard(ExperimentationError(.transport, "away")))
        try await eventually("the warning") { log.entries.contains { "\($0)".contains("away") } }
        #expect(session.status == .notReady && client.status == .notReady)
        // A session without a refresh shows defaults.
        vendor.tell(.changed)
        try await session.refresh()
        #expect(session.status == .ready && client.status == .ready)
        await client.shutdown()
    }

    @Test("after the client's shutdown nothing listens to the vendor")
    func ends() async throws {
        let vendor = Vendor()
        let client = try await ExperimentationClient(provider: vendor)
        await client.shutdown()
        try await eventually("closed") { vendor.isClosed.withLock { $0 } }
        vendor.tell(.changed)
        #expect(vendor.asked.withLock { $0 } == 0)
    }

    @Test("a change that one of several vendors announces isn't lost if others fall silent")
    func merged() async throws {
        let (stream, vendor) = AsyncStream.makeStream(of: ChangeNotice.self)
        let passed = Mutex(0)
        let merged = AsyncStream.merging([stream]) { _, notice in
            passed.withLock { $0 += 1 }
            return notice
        }
        vendor.yield(.changed)
        for _ in 0..<5 { vendor.yield(.unheard(ExperimentationError(.transport, "away"))) }
        vendor.finish()
        try await eventually("all are passed on") { passed.withLock { $0 } == 6 }
        var heard: [ChangeNotice] = []
        for await notice in merged { heard.append(notice) }
        #expect(heard.contains(.changed))
    }
}
