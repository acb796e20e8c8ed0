import AdapterKit
import Experimentation
import Foundation

/// A file that takes every event, one JSON object a line: what a warehouse reads.
///
/// Lines are written whole and on the disk when they count as delivered; a batch that can't be leaves no part of itself. After
/// a crash an event may stand there twice, with the same id.
///
/// ```swift
/// let file = FileProvider(configuration: FileConfiguration(path: "/var/lib/shop/events.jsonl"))
/// ```
///
/// One process writes a file at a time. What was finished is named after its end: `events-20261121T235959.120Z.jsonl`.
public struct FileProvider: ExperimentationProvider {
    /// The destination's name.
    public let name = "file"
    /// The settings.
    public let configuration: FileConfiguration

    /// Creates a provider; nothing is written before a client starts it.
    public init(configuration: FileConfiguration) { self.configuration = configuration }

    /// The path, without detours: two spellings of it are one account.
    public var scope: String { URL(filePath: configuration.path).standardizedFileURL.path }

    /// Events of every kind; no decisions.
    public let capabilities: Set<Capability> = [.tracking, .exposures, .commerce, .batching, .eventIDs, .consentSignal]

    /// Checks the settings.
    ///
    /// A disk that isn't there or is full is no reason to fail: events wait for it.
    ///
    /// - Throws: ``ErrorCode/configuration`` that names the setting.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        try configuration.validate()
        let file = LineFile(configuration)
        var roles = ProviderRoles(
            events: FileEventSink(file: file, batching: configuration.batching, environment: context.environment),
            needsConsent: configuration.needsConsent
        )
        roles.stop = { _ in await file.close() }
        return roles
    }
}

/// Takes events into a file.
struct FileEventSink: EventSink {
    let file: LineFile
    let batching: BatchPolicy
    let environment: ClientEnvironment

    func check(_ event: TrackingEvent) throws(ExperimentationError) {}

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        var report = DeliveryReport(noAnswerTo: batch.count)
        var lines: [UInt8] = []
        var places: [Int] = []
        for (place, envelope) in batch.enumerated() {
            do throws(ExperimentationError) {
                lines += try EventForm.line(of: envelope)
                places.append(place)
            } catch {
                report[place] = .rejected(error.message)
            }
        }
        if places.isEmpty { return report }
        switch await file.append(lines, at: environment.time.now) {
        case .written: report.add(DeliveryReport(.delivered), at: places)
        case .failed(let failure):
            environment.log.log(.error, "file.write", failure.message)
            report.add(DeliveryReport(failure.verdict), at: places)
        }
        return report
    }
}

extension EventForm {
    /// An event as a line of a file.
    static func line(of envelope: Envelope) throws(ExperimentationError) -> [UInt8] {
        try JSON.encode(value(of: envelope)) + [UInt8(ascii: "\n")]
    }
}
