import AdapterKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationTesting
import Logging
import OFREPAdapter
import ServiceLifecycle
import Synchronization
import Testing

@testable import GatewayServer

/// The adapter for OFREP in front of the gateway: the adapters' suite with a second server behind it.
struct GatewaySubject: ConformanceSubject {
    let changes: OFREPConfiguration.Changes
    private let mocked: OFREPSubject

    init(_ changes: OFREPConfiguration.Changes) {
        self.changes = changes
        mocked = OFREPSubject(changes: changes)
    }

    var name: String { "\(mocked.name)-gateway" }
    var capabilities: Set<Capability> { mocked.capabilities }
    var reasons: [Capability: String] { mocked.reasons }
    var wireFields: Set<Received.Field> { [] }

    func open(_ world: World) async throws -> any SubjectStage {
        try await GatewayStage(world, changes: changes)
    }
}

/// A world at a vendor in memory, served by a gateway on a socket.
private final class GatewayStage: SubjectStage {
    private let backend: InMemoryStage
    private let changes: OFREPConfiguration.Changes
    private let gateway: Gateway
    private let group: ServiceGroup
    private let running: Task<Void, any Error>
    private let address: String
    private let world: World

    var secrets: [String] { ["t0ken"] }

    init(_ world: World, changes: OFREPConfiguration.Changes) async throws {
        self.world = world
        self.changes = changes
        backend = InMemoryStage(world)
        let vendor = backend.backend
        var configuration = GatewayConfiguration(tenants: [Served.tenant()])
        configuration.drain = .zero
        gateway = try await Gateway(configuration, environment: ClientEnvironment()) { _ in vendor }
        let (addresses, announced) = AsyncStream.makeStream(of: String.self)
        let group = ServiceGroup(
            services: gateway.services { announced.yield($0) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        self.group = group
        running = Task { try await group.run() }
        var iterator = addresses.makeAsyncIterator()
        address = await iterator.next() ?? ""
    }

    var gaps: [WorldGap] {
        get async {
            var gaps = backend.gaps
            if !world.experiments.isEmpty { gaps.append(WorldGap("experiments", "OFREP doesn't tell of experiments")) }
            if !world.holdouts.isEmpty { gaps.append(WorldGap("holdouts", "OFREP has no holdouts")) }
            if !world.campaigns.isEmpty { gaps.append(WorldGap("campaigns", "OFREP has no campaigns")) }
            if world.lifetime != nil {
                gaps.append(WorldGap("lifetime", "OFREP doesn't say how long an answer is good"))
            }
            for flag in world.flags
            where flag.rules.contains(where: { $0.when.contains { $0.comparison.isOfDatesOrVersions } }) {
                gaps.append(WorldGap("flags/\(flag.key)", "OFREP doesn't say which comparisons a server has"))
            }
            return gaps
        }
    }

    func makeProvider() async throws -> any ExperimentationProvider { try provider() }

    func provider(eventsPath: String? = nil) throws -> OFREPProvider {
        OFREPProvider(
            configuration: OFREPConfiguration(
                baseURL: try Endpoint(address),
                token: "t0ken",
                changes: changes,
                timeout: .seconds(60),
                eventsPath: eventsPath
            )
        )
    }

    /// What reached the vendor behind the gateway, once the gateway has delivered everything.
    func delivered() async throws -> [Envelope] {
        for tenant in gateway.responder.tenants.tenants { _ = try await tenant.connection.client.flush() }
        return backend.backend.record.delivered
    }

    func change(to world: World) async throws {
        try await backend.change(to: world)
        for tenant in gateway.responder.tenants.tenants { try await tenant.connection.client.refresh(force: true) }
    }

    func inject(_ faults: [WorldFault]) async throws {
        if !faults.isEmpty { throw SubjectError.unsupported("the gateway does nothing wrong on script") }
    }
    func clearFaults() async throws {}
    func setKillSwitch(_ isOn: Bool) async throws { try await backend.setKillSwitch(isOn) }
    func setReachable(_ isReachable: Bool) async throws { throw SubjectError.unsupported("the gateway stays") }
    func received() async throws -> [Received] { [] }
    func exchanges() async throws -> [ConformanceKit.Exchange] { [] }

    func close() async {
        await group.triggerGracefulShutdown()
        try? await running.value
    }
}

@Suite("The adapter over the gateway")
struct AdapterPeerTests {
    @Test(
        "the OFREP adapter passes its conformance cases over the gateway, except those that need faults",
        arguments: [OFREPConfiguration.Changes.none, .events]
    )
    func conforms(changes: OFREPConfiguration.Changes) async {
        // The gateway keeps no journal in which a case could count requests, and the vendor behind it tells nothing of
        // plain flags that the gateway could pass on.
        let unfit = ["coalescing/a-later-refresh-asks-again", "evaluation/metadata-of-a-plain-flag"]
        let cases = ConformanceCase.all.filter { $0.faults.isEmpty && !unfit.contains($0.name) }
        let report = await ConformanceRunner(width: 2).run(cases, against: [GatewaySubject(changes)])
        let results = report.subjects[0].results
        let staged = ["on script", "the gateway stays"]
        let failed = results.filter { result in
            result.outcome.isFailure
                && !result.outcome.failures.contains { failure in staged.contains { failure.message.contains($0) } }
        }
        #expect(failed.isEmpty, "\(failed.map(\.account).joined(separator: "\n"))")
        #expect(results.count { $0.outcome == .passed } >= 50)
    }

    @Test("events that the adapter delivers reach the vendor behind the gateway, each once and in order")
    func events() async throws {
        let stage = try await GatewayStage(.shop, changes: .none)
        let client = try await ExperimentationClient(provider: stage.provider(eventsPath: "v1/events"))
        let session = client.session(for: User(id: "ada"))
        for number in 0..<45 { try await session.track(.custom("event-\(number)")) }
        _ = try await client.flush()
        let ledger = try await client.ledger()
        #expect((ledger.delivered, ledger.pending) == (45, 0))
        // The vendor behind the gateway needs consent, which the gateway learns of from an event.
        #expect(try await stage.delivered() == [])
        try await session.setConsent(.granted)
        _ = try await client.flush()
        let delivered = try await stage.delivered().filter { $0.event.type == "custom" }
        #expect(delivered.map(\.event) == (0..<45).map { .custom("event-\($0)") })
        #expect(Set(delivered.map(\.identity.id)) == ["ada"])
        await client.shutdown()
        await stage.close()
    }
}
