import Experimentation
import ExperimentationPostgres
import GatewayWaiting
import Synchronization
import Testing

/// A vendor that is asked for each user, with a kill switch that a test turns.
private final class SwitchedVendor: ExperimentationProvider, DecisionSource {
    let name = "switched"
    let scope = ""
    let capabilities: Set<Capability> = [.flags, .killSwitch]
    let freshness = Freshness()
    private let state = Mutex((isDisabled: false, asked: 0))

    var asked: Int { state.withLock { $0.asked } }
    func set(disabled: Bool) { state.withLock { $0.isDisabled = disabled } }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .asked(self))
    }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let isDisabled = state.withLock { state in
            state.asked += 1
            return state.isDisabled
        }
        if isDisabled { return .disabled }
        return .decided(Decisions(flags: [("flag", Resolution(.int(1), variant: "n", reason: .split))]))
    }
}

@Suite("The kill switch of a vendor that is asked for each user")
struct SharedSwitchTests {
    private static func reach(_ status: ProviderStatus, by client: ExperimentationClient) async throws {
        try await eventually("the status is \(status)") { client.status == status }
    }

    @Test("a machine that asks the vendor nothing learns from another one that it was turned on or off")
    func shared() async throws {
        let schema = newSchema()
        let stores = [try await opened(schema), try await opened(schema)]
        let vendors = [SwitchedVendor(), SwitchedVendor()]
        var clients: [ExperimentationClient] = []
        for (store, vendor) in zip(stores, vendors) {
            clients.append(try await ExperimentationClient(provider: store.sharing(vendor), store: store.clientStore))
        }
        _ = try await clients[0].decisions(for: User(id: "ada"))
        vendors[0].set(disabled: true)
        _ = try? await clients[0].decisions(for: User(id: "ada"))
        #expect(clients[0].status == .disabled)
        try await Self.reach(.disabled, by: clients[1])
        vendors[0].set(disabled: false)
        _ = try? await clients[0].decisions(for: User(id: "bob"))
        try await Self.reach(.ready, by: clients[1])
        #expect(vendors[1].asked == 0)
        for client in clients { await client.shutdown(within: .zero) }
        for store in stores { await store.close() }
    }
}
