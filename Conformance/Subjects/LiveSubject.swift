import ConformanceKit
import Experimentation

/// A vendor's real account as a subject: its world can't be set up, so only read-only cases run.
public struct LiveSubject: ConformanceSubject {
    private let vendor: Vendor
    private let declared: Set<Capability>
    private let make: @Sendable () throws -> any ExperimentationProvider

    /// Creates a subject.
    ///
    /// - Parameters:
    ///   - vendor: The vendor.
    ///   - make: Creates a provider for the account.
    /// - Throws: When no provider can be created for the account.
    public init(
        _ vendor: Vendor,
        making make: @escaping @Sendable () throws -> any ExperimentationProvider
    ) throws {
        self.vendor = vendor
        self.make = make
        // Taken from the provider, because a vendor's capabilities may depend on its configuration.
        declared = try make().capabilities
    }

    /// Verifies that the account is reachable, so that an unavailable vendor isn't reported as a broken promise.
    ///
    /// - Throws: Why it can't be reached, fails or rejects the credentials; finding anything else is left to the cases.
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
            // Not every vendor has decisions to fetch, but each has something that can be queried.
            try await vendor.reach(client)
            try await session.refresh()
        } catch {
            refusal = error
        }
        await client.shutdown(within: .milliseconds(200))
        if let refusal, refusal.code.isOutage || refusal.code == .configuration { throw refusal }
    }

    /// The vendor's name with the suffix `-live`.
    public var name: String { "\(vendor.name)-live" }
    /// The declared capabilities.
    public var capabilities: Set<Capability> { declared }
    /// Why the other capabilities are missing.
    public var reasons: [Capability: String] { vendor.reasons }
    /// Empty: what the vendor accepts can't be observed.
    public var wireFields: Set<Received.Field> { [] }
    /// Why no field can be compared.
    public var wireReasons: [Received.Field: String] {
        let reason = "what a real account takes can't be seen from here"
        return Dictionary(uniqueKeysWithValues: Received.Field.allCases.map { ($0, reason) })
    }

    /// Opens the account as it is, ignoring the world.
    public func open(_ world: World) async throws -> any SubjectStage { LiveStage(make: make) }
}

/// The stage of an existing account.
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
