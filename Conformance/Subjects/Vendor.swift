import AdapterKit
import ConformanceKit
import ConformanceStages
import Experimentation
import MockVendors
import VendorCatalog

/// A vendor for the tools: how to create its provider from a configuration file, its mock, and its subjects.
public struct Vendor: Sendable {
    /// The name in lower case.
    public let name: String
    /// The adapter with its mock, in each of its modes; the first is what a comparison shows.
    public let subjects: [any ConformanceSubject]
    let reach: @Sendable (ExperimentationClient) async throws(ExperimentationError) -> Void

    /// Creates a vendor.
    ///
    /// - Parameters:
    ///   - name: The name in lower case.
    ///   - subjects: The adapter with its mock, in each of its modes.
    ///   - reach: Sends a read-only request, for vendors where fetching decisions sends none.
    public init(
        _ name: String,
        subjects: [any ConformanceSubject],
        reach: @escaping @Sendable (ExperimentationClient) async throws(ExperimentationError) -> Void = { _ in }
    ) {
        self.name = name
        self.subjects = subjects
        self.reach = reach
    }

    /// The declared capabilities.
    public var capabilities: Set<Capability> { subjects.first?.capabilities ?? [] }

    /// Why the other capabilities are missing.
    public var reasons: [Capability: String] { subjects.first?.reasons ?? [:] }

    /// Creates a provider from a configuration file's settings, and rejects unknown settings.
    ///
    /// - Parameter settings: The file's settings, without the vendor's name.
    /// - Returns: A provider that hasn't been started.
    /// - Throws: `ErrorCode.configuration`, naming file, key and what was expected.
    public func provider(from settings: SettingsReader) throws -> any ExperimentationProvider {
        try VendorCatalog.provider(named: name, settings: settings)
    }

    /// Creates the vendor's mock and fills it from a world.
    ///
    /// - Parameter world: The neutral world.
    /// - Returns: The mock, not served yet, and the parts of the world that it can't represent.
    /// - Throws: When the mock can't be filled.
    public func mock(with world: World) async throws -> (vendor: any MockVendor, gaps: [WorldGap]) {
        guard let subject = subjects.first else { throw SubjectError.unsupported("\(name) has no mock") }
        let stage = try await subject.open(world)
        guard let served = stage as? any ServedStage else {
            await stage.close()
            throw SubjectError.unsupported("\(name) has no mock to serve")
        }
        let vendor = served.mock
        let gaps = await stage.gaps
        await stage.close()
        try await served.prepareToServe()
        return (vendor, gaps)
    }

    /// Returns the vendor with a name; `nil` if there is none.
    public static func named(_ name: String) -> Vendor? { all.first { $0.name == name } }

    /// The vendors that a configuration file may name: single vendors, compositions, and destinations that belong to no
    /// vendor.
    public static let configurable: [Vendor] =
        all
        + VendorCatalog.compositionNames.map { name in
            Vendor(name, subjects: destinations.filter { $0.name == name })
        }

    /// The destinations that belong to no vendor.
    public static let destinations: [any ConformanceSubject] = [FileSubject(), WebhookSubject()]
}

/// A stage with a mock vendor behind it.
protocol ServedStage {
    /// The mock.
    var mock: any MockVendor { get }
    /// Prepares the mock for people and other programs.
    func prepareToServe() async throws
}

extension MockStage: ServedStage {
    var mock: any MockVendor { vendor }
}
