import AdapterKit
import EngageAdapter
import EvergageAdapter
import Experimentation
import ExperimentationComposition
import FlagshipAdapter
import OFREPAdapter
import SigmaAdapter

/// Creates a provider by its vendor's name and settings, to choose a vendor at run time.
///
/// ```swift
/// let settings = try Data(contentsOf: file)              // {"vendor": "flagship", "environmentID": …, "apiKey": …}
/// let provider = try VendorCatalog.provider(json: Array(settings), file: "vendor.json")
/// let client = try await ExperimentationClient(provider: provider)
/// ```
public enum VendorCatalog {
    /// The vendors' names, in the order of every report.
    public static let names = ["flagship", "sigma", "engage", "evergage", "ofrep"]

    /// Further names that a configuration accepts: a composition, and the destinations without a vendor.
    public static let compositionNames = ["composed", "file", "webhook"]

    /// Whether events of users whose consent is unknown are always held for the destination of a provider.
    ///
    /// Where a setting decides, as for a file or a webhook, it isn't known.
    package static func needsConsent(destination provider: String) -> Bool { provider == "flagship" }

    private static var known: String { (names + compositionNames).joined(separator: ", ") }

    /// Creates the provider that a configuration file describes: `vendor` and its settings, endpoints included.
    ///
    /// The output of `xp mock` is accepted as it is: its credentials become settings.
    ///
    /// - Parameters:
    ///   - json: The file, a JSON object.
    ///   - file: Its name, for messages.
    ///   - environment: The environment variables that secrets may name, as `{"env": "NAME"}`.
    /// - Returns: A provider that hasn't been started.
    /// - Throws: `ErrorCode.configuration`, naming file, key and what was expected.
    public static func provider(
        json: [UInt8],
        file: String,
        environment: [String: String] = [:]
    ) throws(ExperimentationError) -> any ExperimentationProvider {
        let document: FlagValue
        do throws(ExperimentationError) {
            document = try JSON.parse(json)
        } catch {
            throw error.about(file, as: .configuration)
        }
        return try provider(from: document, file: file, environment: environment)
    }

    /// Creates the provider that a parsed configuration describes.
    ///
    /// - Parameters:
    ///   - configuration: An object of `vendor` and its settings.
    ///   - file: The file's name, for messages.
    ///   - environment: The environment variables that secrets may name.
    /// - Returns: A provider that hasn't been started.
    /// - Throws: `ErrorCode.configuration`, naming file, key and what was expected.
    public static func provider(
        from configuration: FlagValue,
        file: String,
        environment: [String: String] = [:]
    ) throws(ExperimentationError) -> any ExperimentationProvider {
        guard case .object(var members) = configuration else {
            throw ExperimentationError(.configuration, "\(file): expected an object with \"vendor\" and its settings")
        }
        guard let name = members.removeValue(forKey: "vendor")?.stringValue else {
            throw ExperimentationError(
                .configuration,
                "\(file): \"vendor\": missing or not a text; expected one of \(known)"
            )
        }
        takeMock(&members)
        let settings = try SettingsReader(.object(members), file: file, environment: environment)
        return try provider(named: name, settings: settings)
    }

    /// Creates a vendor's provider from its settings; rejects settings that the vendor doesn't have.
    ///
    /// - Parameters:
    ///   - name: One of ``names`` or of ``compositionNames``.
    ///   - settings: The settings, without the vendor's name.
    /// - Returns: A provider that hasn't been started.
    /// - Throws: `ErrorCode.configuration`, naming file, key and what was expected.
    public static func provider(
        named name: String,
        settings: SettingsReader
    ) throws(ExperimentationError) -> any ExperimentationProvider {
        var settings = settings
        let provider: any ExperimentationProvider
        switch name {
        case "flagship": provider = FlagshipProvider(configuration: try FlagshipConfiguration(reading: &settings))
        case "sigma": provider = SigmaProvider(configuration: try SigmaConfiguration(reading: &settings))
        case "engage": provider = EngageProvider(configuration: try EngageConfiguration(reading: &settings))
        case "evergage": provider = EvergageProvider(configuration: try EvergageConfiguration(reading: &settings))
        case "ofrep": provider = OFREPProvider(configuration: try OFREPConfiguration(reading: &settings))
        case "file": provider = FileProvider(configuration: try FileConfiguration(reading: &settings))
        case "webhook": provider = WebhookProvider(configuration: try WebhookConfiguration(reading: &settings))
        case "composed":
            provider = try ComposedProvider(reading: &settings) { (name, settings) throws(ExperimentationError) in
                try Self.provider(named: name, settings: settings)
            }
        default:
            throw settings.error("vendor", "there is no \"\(name)\"; expected one of \(known)")
        }
        try settings.finish()
        return provider
    }

    /// Converts the output of `xp mock`, which holds credentials in a section and an extra address; also for each vendor of
    /// a composition.
    package static func takeMock(_ members: inout [String: FlagValue]) {
        if case .object(let vendors)? = members["vendors"] {
            members["vendors"] = .object(
                vendors.mapValues { vendor in
                    guard case .object(var own) = vendor else { return vendor }
                    takeMock(&own)
                    return .object(own)
                }
            )
        }
        guard members["url"] != nil, case .object(let credentials)? = members["credentials"] else { return }
        members["url"] = nil
        members["credentials"] = nil
        members.merge(credentials) { own, _ in own }
    }
}
