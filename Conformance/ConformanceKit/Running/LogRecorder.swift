import Experimentation
import Synchronization

/// Keeps everything that is logged, to look for what must not be there.
public final class LogRecorder: LogSink {
    private let state = Mutex<[LogEntry]>([])

    /// Creates a recorder.
    public init() {}

    /// Everything is wanted.
    public var level: LogLevel { .trace }
    /// Keeps a message.
    public func log(_ entry: LogEntry) { state.withLock { $0.append(entry) } }
    /// What has been logged so far.
    public var entries: [LogEntry] { state.withLock { $0 } }

    /// All that has been logged, as one text.
    public var text: String {
        entries.map { entry in
            let fields = entry.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return ([entry.event, entry.message] + fields).joined(separator: " ")
        }
        .joined(separator: "\n")
    }
}
