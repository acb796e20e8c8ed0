import ConformanceKit
import Experimentation

/// A vendor's real account as a subject: nothing can be arranged there, so only cases that read can run.
public struct LiveSubject: ConformanceSubject {
    private let vendor: Vendor
    private let make: @Sendable (Environment) throws -> any ExperimentationProvider

    /// Creates a subject.
    ///
    /// - Parameters:
    ///   - vendor: The vendor.
    ///   - make: Makes a provider for the account.
    public init(
        _ vendor: Vendor,
        making make: @escaping @Sendable (Environment) throws -> any ExperimentationProvider
    ) {
        self.vendor = vendor
        self.make = make
    }

    /// The vendor's name, and that this is no stand-in.
    public var name: String { "\(vendor.name)-live" }
    /// What the adapter declares.
    public var capabilities: Set<Capability> { vendor.capabilities }
    /// Why the rest isn't there.
    public var reasons: [Capability: String] { vendor.reasons }
    /// Nothing: what the vendor takes can't be seen from here.
    public var wireFields: Set<Received.Field> { [] }

    /// Goes to the account as it is; the world is only what a case would have liked.
    public func open(_ world: World) async throws -> any SubjectStage { LiveStage(make: make) }
}

/// An account that is there already.
private struct LiveStage: SubjectStage {
    let make: @Sendable (Environment) throws -> any ExperimentationProvider
    private static let refusal = SubjectError.unsupported("a real account isn't this command's to change")

    func makeProvider(_ environment: Environment) async throws -> any ExperimentationProvider { try make(environment) }
    func change(to world: World) async throws { throw Self.refusal }
    func inject(_ faults: [WorldFault]) async throws { if !faults.isEmpty { throw Self.refusal } }
    func clearFaults() async throws {}
    func setKillSwitch(_ isOn: Bool) async throws { throw Self.refusal }
    func setReachable(_ isReachable: Bool) async throws { throw Self.refusal }
    func received() async throws -> [Received] { [] }
    func exchanges() async throws -> [Exchange] { [] }
    func close() async {}
}
