import Experimentation
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@Suite("Network state")
struct ConnectivityTests {
    private func delivered(_ client: ExperimentationClient) async throws -> Int { try await client.ledger().delivered }

    private func start() async throws -> (ExperimentationClient, UserSession, InMemoryProvider) {
        let provider = InMemoryProvider()
        let client = try await ExperimentationClient(provider: provider)
        return (client, client.session(for: User(id: "ada", consent: .granted)), provider)
    }

    @Test("deliveries wait while a monitor reports no network, and go on when it reports one")
    func follows() async throws {
        let (client, session, _) = try await start()
        let (reports, monitor) = AsyncStream.makeStream(of: Connectivity.self)
        client.followConnectivity(reports)
        monitor.yield(.offline)
        try await eventually("the client to hear that it is offline") {
            try await session.track(.custom("probe"))
            return try await client.flush(within: .zero, retrying: false) != .delivered
        }
        let waiting = try await client.ledger().pending
        #expect(waiting > 0)
        monitor.yield(.online)
        try await eventually("everything to be delivered") { try await client.ledger().pending == 0 }
        await client.shutdown()
    }

    @Test("when a monitor ends, the network's state is unknown and deliveries are tried")
    func ends() async throws {
        let (client, session, _) = try await start()
        await client.setConnectivity(.offline)
        try await session.track(.custom("A"))
        let (reports, monitor) = AsyncStream.makeStream(of: Connectivity.self)
        client.followConnectivity(reports)
        monitor.finish()
        try await eventually("the event to be delivered") { try await client.ledger().delivered == 1 }
        await client.shutdown()
    }

    @Test("following another monitor stops the first, and shutdown stops both")
    func replaced() async throws {
        let (client, _, _) = try await start()
        let (first, one) = AsyncStream.makeStream(of: Connectivity.self)
        let ended = Shared<[String]>([])
        one.onTermination = { _ in ended.change { $0.append("first") } }
        client.followConnectivity(first)
        let (second, other) = AsyncStream.makeStream(of: Connectivity.self)
        other.onTermination = { _ in ended.change { $0.append("second") } }
        client.followConnectivity(second)
        try await eventually("the first to be let go") { ended.value == ["first"] }
        await client.shutdown()
        try await eventually("the second to be let go") { ended.value == ["first", "second"] }
    }
}
