import ConformanceKit
import ConformanceSubjects
import Experimentation
import Synchronization
import Testing
import Waiting

@Suite("A case retains nothing after its end")
struct ReleaseTests {
    @Test(
        "every provider that a case created is released",
        arguments: ["identity/*", "outages/*", "caching/*", "evaluation/*"]
    )
    func released(glob: String) async throws {
        let subject = RememberingSubject()
        let cases = ConformanceCase.all.filter { $0.matches(glob) }
        for conformanceCase in cases { _ = await subject.complaint(about: conformanceCase) }
        let made = subject.providers.withLock { $0 }
        #expect(!cases.isEmpty && made.count >= cases.count)
        try await eventually(
            "all are released",
            seen: { "\(made.count { $0.provider != nil }) of \(made.count) are held" }
        ) {
            made.allSatisfy { $0.provider == nil }
        }
    }
}

/// The in-memory subject with weak references to its providers.
private final class RememberingSubject: ConformanceSubject {
    struct Remains: Sendable { weak let provider: HeldProvider? }

    let providers = Mutex<[Remains]>([])
    private let inner = InMemorySubject()
    var name: String { inner.name }
    var capabilities: Set<Capability> { inner.capabilities }
    var wireFields: Set<Received.Field> { inner.wireFields }

    func open(_ world: World) async throws -> any SubjectStage {
        Stage(inner: try await inner.open(world), subject: self)
    }

    private struct Stage: ForwardingStage {
        let inner: any SubjectStage
        let subject: RememberingSubject

        func makeProvider() async throws -> any ExperimentationProvider {
            let provider = HeldProvider(try await inner.makeProvider())
            subject.providers.withLock { $0.append(Remains(provider: provider)) }
            return provider
        }
    }
}

/// A provider retained by its roles, as one with connections is.
private final class HeldProvider: ExperimentationProvider {
    private let inner: any ExperimentationProvider
    var name: String { inner.name }
    var scope: String { inner.scope }
    var capabilities: Set<Capability> { inner.capabilities }

    init(_ inner: any ExperimentationProvider) { self.inner = inner }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await inner.start(in: context)
        let stop = roles.stop
        roles.stop = { [self] deadline in
            _ = self
            await stop(deadline)
        }
        return roles
    }
}
