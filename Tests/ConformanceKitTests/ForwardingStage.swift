import ConformanceKit
import Experimentation

/// A stage around another one; implement only what differs.
protocol ForwardingStage: SubjectStage {
    var inner: any SubjectStage { get }
}

extension ForwardingStage {
    var gaps: [WorldGap] { get async { await inner.gaps } }
    var secrets: [String] { inner.secrets }
    func makeProvider() async throws -> any ExperimentationProvider { try await inner.makeProvider() }
    func change(to world: World) async throws { try await inner.change(to: world) }
    func inject(_ faults: [WorldFault]) async throws { try await inner.inject(faults) }
    func clearFaults() async throws { try await inner.clearFaults() }
    func setKillSwitch(_ isOn: Bool) async throws { try await inner.setKillSwitch(isOn) }
    func setReachable(_ isReachable: Bool) async throws { try await inner.setReachable(isReachable) }
    func received() async throws -> [Received] { try await inner.received() }
    func exchanges() async throws -> [Exchange] { try await inner.exchanges() }
    func close() async { await inner.close() }
}
