import Logging
import Synchronization

/// Records log output, and blocks the logger if a test asks for it.
final class Kept: Sendable {
    struct Line: Equatable {
        var level: Logger.Level
        var message: String
        var metadata: [String: String]
        var source: String
    }

    private let lines = Mutex<[Line]>([])
    let gate: Gate?

    init(gate: Gate? = nil) { self.gate = gate }

    var all: [Line] { lines.withLock { $0 } }
    /// The metadata of all lines.
    var metadata: [[String: String]] { all.map(\.metadata) }

    func logger(_ level: Logger.Level, provider: Logger.MetadataProvider? = nil) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(kept: self, metadataProvider: provider) }
        logger.logLevel = level
        return logger
    }

    struct Handler: LogHandler {
        let kept: Kept
        var metadataProvider: Logger.MetadataProvider?
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            kept.gate?.pass()
            let provided = metadataProvider?.get() ?? [:]
            let metadata = (event.metadata ?? [:]).merging(provided) { own, _ in own }.mapValues { "\($0)" }
            let line = Line(
                level: event.level,
                message: event.message.description,
                metadata: metadata,
                source: event.source
            )
            kept.lines.withLock { $0.append(line) }
        }
    }
}
