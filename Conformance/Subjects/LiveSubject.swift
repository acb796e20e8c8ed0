import ConformanceKit
import Experimentation

/// A vendor's real account as a subject: nothing can be arranged there, so only cases that read can run.
public struct LiveSubject: ConformanceSubject {
    private let vendor: Vendor
    private let declared: Set<Capability>
    private let make: @Sendable () throws -> any ExperimentationProvider

    /// Creates a subject.
    ///
    /// - Parameters:
    ///   - vendor: The vendor.
    ///   - make: Makes a provider for the account.
    /// - Throws: When no provider can be made for the account.
    public init(
        _ vendor: Vendor,
        making make: @escaping @Sendable () throws -> any ExperimentationProvider
    ) throws {
        self.vendor = vendor
        self.make = make
        // Asked of the provider, because what a vendor can do may hang on how it is configured.
        declared = try make().capabilities
    }

    /// Sees whether the account can be reached at all, so that an absent vendor isn't taken for a broken promise.
    ///
    /// - Throws: Why it can't be reached or lets nobody in; what else may be wrong is the cases' to find.
    public func reach() async throws {
        let provider = try make()
        let client = try await ExperimentationClient(
            provider: provider,
            store: .inMemory(),
            environment: ClientEnvironment()
        )
        let session = client.session(for: User(id: "conformance", consent: .granted))
        var refusal: ExperimentationError?
        do throws(ExperimentationError) {
            // Not every vendor has decisions to fetch; each has something that can be asked.
            try await vendor.reach(client)
            try await session.refresh()
        } catch {
            refusal = error
        }
        await client.shutdown(within: .milliseconds(200))
        if let refusal, [.transport, .timeout, .unauthorized, .configuration].contains(refusal.code) { throw refusal }
    }

    /// The vendor's name, and that this is no stand-in.
    public var name: String { "\(vendor.name)-live" }
    /// What the adapter declares.
    public var capabilities: Set<Capability> { declared }
    /// Why the rest isn't there.
    public var reasons: [Capability: String] { vendor.reasons }
    /// Nothing: what the vendor takes can't be seen from here.
    public var wireFields: Set<Received.Field> { [] }
    /// Why not.
    public var wireReasons: [Received.Field: String] {
        let reason = "what a real account takes can't be seen from here"
        return Dictionary(uniqueKeysWithValues: Received.Field.allCases.map { ($0, reason) })
    }

    /// Goes to the account as it is; the world is only what a case would have liked.
    public func open(_ world: World) async throws -> any SubjectStage { LiveStage(make: make) }
}

/// An account that is there already.
private struct LiveStage: SubjectStage {
    let make: @Sendable () throws -> any ExperimentationProvider
    private static let refusal = SubjectError.unsupported("a real account isn't this command's to change")

    func makeProvider() async throws -> any ExperimentationProvider { try make() }
    func change(to world: World) async throws { throw Self.refusal }
    func inject(_ faults: [WorldFault]) async throws { if !faults.isEmpty { throw Self.refusal } }
    func clearFaults() async throws {}
    func setKillSwitch(_ isOn: Bool) async throws { throw Self.refusal }
    func setReachable(_ isReachable: Bool) async throws { throw Self.refusal }
    func received() async throws -> [Received] { [] }
    func exchanges() async throws -> [Exchange] { [] }
    func close() async {}
}
