import AdapterKit
import ConformanceKit
import ConformanceStages
import Experimentation
import MockVendors
import VendorCatalog

/// A vendor as the tools know it: how to make its provider from a configuration file, its mock, and its subjects.
public struct Vendor: Sendable {
    /// The name as people write it, in lower case.
    public let name: String
    /// The adapter with its mock, in each of its modes; the first is what a comparison shows.
    public let subjects: [any ConformanceSubject]
    let reach: @Sendable (ExperimentationClient) async throws(ExperimentationError) -> Void

    /// Creates a vendor.
    ///
    /// - Parameters:
    ///   - name: The name as people write it.
    ///   - subjects: The adapter with its mock, in each of its modes.
    ///   - reach: Asks the vendor for something that changes nothing there, where fetching decisions doesn't do that.
    public init(
        _ name: String,
        subjects: [any ConformanceSubject],
        reach: @escaping @Sendable (ExperimentationClient) async throws(ExperimentationError) -> Void = { _ in }
    ) {
        self.name = name
        self.subjects = subjects
        self.reach = reach
    }

    /// What the adapter declares.
    public var capabilities: Set<Capability> { subjects.first?.capabilities ?? [] }

    /// Why what isn't declared isn't there.
    public var reasons: [Capability: String] { subjects.first?.reasons ?? [:] }

    /// Makes a provider from a configuration file's settings, and refuses settings that nobody reads.
    ///
    /// - Parameter settings: The file's settings, without the vendor's name.
    /// - Returns: A provider that hasn't been started.
    /// - Throws: `ErrorCode.configuration`, naming file, key and what was expected.
    public func provider(from settings: SettingsReader) throws -> any ExperimentationProvider {
        try VendorCatalog.provider(named: name, settings: settings)
    }

    /// Makes the vendor's mock and fills it from a world.
    ///
    /// - Parameter world: The neutral world.
    /// - Returns: The mock, not served yet, and what of the world it can't hold.
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

    /// The vendor with a name, or `nil`.
    public static func named(_ name: String) -> Vendor? { all.first { $0.name == name } }

    /// What a configuration file may name: the vendors, several as one, and destinations that belong to no vendor.
    public static let configurable: [Vendor] =
        all + VendorCatalog.compositionNames.map { Vendor($0, subjects: []) }

    /// Every subject that can be played: each vendor's, then the in-memory provider.
    public static var everySubject: [any ConformanceSubject] { all.flatMap(\.subjects) + [InMemorySubject()] }
}

/// A stage with a mock vendor behind it.
protocol ServedStage {
    /// The mock.
    var mock: any MockVendor { get }
    /// Makes the mock ready for people and other programs.
    func prepareToServe() async throws
}

extension MockStage: ServedStage {
    var mock: any MockVendor { vendor }
}
