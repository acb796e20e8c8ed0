import Experimentation
import Synchronization

/// Records everything that is logged, to search it for secrets.
public final class LogRecorder: LogSink {
    private let state = Mutex<[LogEntry]>([])

    /// Creates a recorder.
    public init() {}

    /// The lowest level: records everything.
    public var level: LogLevel { .trace }
    /// Records an entry.
    public func log(_ entry: LogEntry) { state.withLock { $0.append(entry) } }
    /// The entries so far.
    public var entries: [LogEntry] { state.withLock { $0 } }

    /// All entries as one text.
    public var text: String {
        entries.map { entry in
            let fields = entry.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return ([entry.event, entry.message] + fields).joined(separator: " ")
        }
        .joined(separator: "\n")
    }
}
