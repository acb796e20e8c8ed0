import AdapterKit
import Experimentation

/// Where a ``FileProvider`` writes, and when it begins another file.
public struct FileConfiguration: Sendable, Hashable {
    /// The file that is written, such as `/var/lib/shop/events.jsonl`; its folder is made if it isn't there when the first event is written.
    public var path: String
    /// How many bytes a file holds before another is begun; 64 MB.
    ///
    /// A single batch that is larger stands in a file of its own.
    public var largest: Int
    /// How long a file is written before another is begun, counted from the beginning of 1970 in UTC; a day, so that files
    /// change at midnight.
    public var period: Duration
    /// Whether events wait until their user consents.
    public var needsConsent: Bool
    /// When events are written.
    public var batching: BatchPolicy

    /// Creates settings.
    ///
    /// - Parameter path: The file.
    public init(path: String) {
        self.path = path
        largest = 64_000_000
        period = .seconds(86_400)
        needsConsent = false
        batching = BatchPolicy(count: 100, largest: 1_000, bytes: 4_000_000, interval: .seconds(1))
    }

    /// Reads the settings of a configuration file; `docs/schemas/configuration-file.schema.json` lists them.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the file, the key and what was expected.
    public init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init(path: try settings.string("path"))
        largest = try settings.int("largest", default: largest, in: 1_000...Int.max)
        period = try settings.seconds("period", default: period, in: .seconds(60)...(.seconds(31_536_000)))
        needsConsent = try settings.bool("needsConsent", default: needsConsent)
        try batching.read(&settings)
    }

    func validate() throws(ExperimentationError) {
        if path.isEmpty { throw ExperimentationError(.configuration, "path: a file needs a name") }
        if path.hasSuffix("/") { throw ExperimentationError(.configuration, "path: expected a file, found a folder") }
        if largest < 1_000 { throw ExperimentationError(.configuration, "largest: expected 1000 bytes at least") }
        if period < .seconds(60) { throw ExperimentationError(.configuration, "period: expected a minute at least") }
    }
}

extension BatchPolicy {
    /// Reads how many events go out together, and when.
    mutating func read(_ settings: inout SettingsReader) throws(ExperimentationError) {
        count = try settings.int("batchSize", default: count, in: 1...10_000)
        largest = max(largest, count)
        interval = try settings.seconds("batchInterval", default: interval, in: .zero...(.seconds(86_400)))
    }
}
