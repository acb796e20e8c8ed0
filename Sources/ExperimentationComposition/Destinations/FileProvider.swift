import AdapterKit
import Experimentation
import Foundation

/// Writes every event to a file as one JSON object a line, for example for a warehouse.
///
/// A batch counts as delivered once it is synced to disk; one that can't be written completely is removed again. After
/// a crash, an event may appear twice, with the same id.
///
/// ```swift
/// let file = FileProvider(configuration: FileConfiguration(path: "/var/lib/shop/events.jsonl"))
/// ```
///
/// Only one process may write a file at a time. A finished file is named after its end:
/// `events-20261121T235959.120Z.jsonl`.
public struct FileProvider: ExperimentationProvider {
    /// The destination's name.
    public let name = "file"
    /// The settings.
    public let configuration: FileConfiguration

    /// Creates a provider; writes nothing before a client starts it.
    public init(configuration: FileConfiguration) { self.configuration = configuration }

    /// The standardized path, so that two spellings of it are one account.
    public var scope: String { URL(filePath: configuration.path).standardizedFileURL.path }

    /// All kinds of events; no decisions.
    public let capabilities: Set<Capability> = [.tracking, .exposures, .commerce, .batching, .eventIDs, .consentSignal]

    /// Validates the settings.
    ///
    /// Doesn't fail if the disk is missing or full: events wait for it.
    ///
    /// - Throws: ``ErrorCode/configuration`` naming the setting.
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

/// Delivers events to a file.
struct FileEventSink: EventSink {
    let file: LineFile
    let batching: BatchPolicy
    let environment: ClientEnvironment

    func check(_ event: TrackingEvent) throws(ExperimentationError) {}

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        let translated = TranslatedBatch(batch) { envelope throws(ExperimentationError) in
            try EventForm.line(of: envelope)
        }
        return await translated.deliver { part in
            switch await file.append(part.forms.flatMap(\.self), at: environment.time.now) {
            case .written: return DeliveryReport(.delivered)
            case .failed(let failure):
                environment.log.log(.error, "file.write", failure.message)
                return DeliveryReport(failure.verdict)
            }
        }
    }
}

extension EventForm {
    /// Returns an event as a line.
    static func line(of envelope: Envelope) throws(ExperimentationError) -> [UInt8] {
        try JSON.encode(value(of: envelope)) + [UInt8(ascii: "\n")]
    }
}
