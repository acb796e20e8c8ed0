import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Synchronization

/// A subject that fails when its kill switch is turned, when its provider starts, or at once.
struct Wayward: ConformanceSubject {
    enum Way: Sendable { case hang, hangAtStart, fail, refuse }
    let name: String
    let way: Way

    var capabilities: Set<Capability> { InMemorySubject().capabilities }
    var wireFields: Set<Received.Field> { InMemorySubject().wireFields }

    func open(_ world: World) async throws -> any SubjectStage {
        if way == .refuse { throw SubjectError.broken("it is shut") }
        return WaywardStage(stage: InMemoryStage(world), way: way)
    }
}

private struct WaywardStage: SubjectStage {
    let stage: InMemoryStage
    let way: Wayward.Way

    func makeProvider() async throws -> any ExperimentationProvider {
        let provider = try await stage.makeProvider()
        return way == .hangAtStart ? HangingProvider(inner: provider) : provider
    }
    func change(to world: World) async throws { try await stage.change(to: world) }
    func inject(_ faults: [WorldFault]) async throws { try await stage.inject(faults) }
    func clearFaults() async throws { try await stage.clearFaults() }
    func setKillSwitch(_ isOn: Bool) async throws {
        guard way == .hang else { throw SubjectError.broken("the console burns") }
        // Ignores cancellation, as a hanging subject may.
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
    func setReachable(_ isReachable: Bool) async throws { try await stage.setReachable(isReachable) }
    func received() async throws -> [Received] { try await stage.received() }
    func exchanges() async throws -> [Exchange] { try await stage.exchanges() }
    func close() async { await stage.close() }
}

/// A provider that never starts.
private struct HangingProvider: ExperimentationProvider {
    let inner: any ExperimentationProvider

    var name: String { inner.name }
    var scope: String { inner.scope }
    var capabilities: Set<Capability> { inner.capabilities }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        return ProviderRoles()
    }
}

/// A subject whose mock starts only once.
final class OpenedOnce: ConformanceSubject {
    private let subject = InMemorySubject()
    private let isOpened = Mutex(false)

    var name: String { subject.name }
    var capabilities: Set<Capability> { subject.capabilities }
    var wireFields: Set<Received.Field> { subject.wireFields }

    func open(_ world: World) async throws -> any SubjectStage {
        let isSecond = isOpened.withLock { isOpened in
            defer { isOpened = true }
            return isOpened
        }
        if isSecond { throw SubjectError.broken("it is shut") }
        return try await subject.open(world)
    }
}

/// Records progress messages.
final class Recorder: Sendable {
    private let state = Mutex<[ComparisonRunner.Progress]>([])
    func note(_ progress: ComparisonRunner.Progress) { state.withLock { $0.append(progress) } }
    var all: [ComparisonRunner.Progress] { state.withLock { $0 } }
}
