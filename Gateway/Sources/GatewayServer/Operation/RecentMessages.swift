import Experimentation
import Foundation
import Synchronization

/// Keeps recent warnings and errors for the console, and forwards all messages.
final class RecentMessages: LogSink {
    /// A message with its time.
    struct Message: Sendable {
        var entry: LogEntry
        var date: Date
    }

    private let next: any LogSink
    private let time: any TimeSource
    private let kept = Mutex<[Message]>([])
    private static let most = 50

    init(_ next: any LogSink, time: any TimeSource) {
        self.next = next
        self.time = time
    }

    /// The lower of the next sink's level and `warning`.
    var level: LogLevel { min(next.level, .warning) }

    /// Forwards an entry, and keeps it if it is a warning or an error.
    func log(_ entry: LogEntry) {
        if entry.level >= .warning {
            let message = Message(entry: entry, date: time.now)
            kept.withLock { kept in
                if kept.count == Self.most { kept.removeFirst() }
                kept.append(message)
            }
        }
        if entry.level >= next.level { next.log(entry) }
    }

    /// The messages kept, the latest last.
    var messages: [Message] { kept.withLock { $0 } }
}
