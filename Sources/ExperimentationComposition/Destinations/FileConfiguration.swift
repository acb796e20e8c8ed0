import AdapterKit
import Experimentation

/// Where a ``FileProvider`` writes, and when it begins a new file.
public struct FileConfiguration: Sendable, Hashable {
    /// The file, such as `/var/lib/shop/events.jsonl`; its folder is created if missing.
    public var path: String
    /// The maximum size of a file in bytes, by default 64 MB.
    ///
    /// A larger single batch gets a file of its own.
    public var largest: Int
    /// The period that a file covers, aligned to 1970 in UTC; by default a day, so that files change at midnight.
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
        if largest < 1_000 { throw ExperimentationError(.configuration, "largest: expected at least 1000 bytes") }
        if period < .seconds(60) { throw ExperimentationError(.configuration, "period: expected at least a minute") }
    }
}

extension BatchPolicy {
    /// Reads the size and timing of batches.
    mutating func read(_ settings: inout SettingsReader) throws(ExperimentationError) {
        count = try settings.int("batchSize", default: count, in: 1...10_000)
        largest = max(largest, count)
        interval = try settings.seconds("batchInterval", default: interval, in: .zero...(.seconds(86_400)))
    }
}
