import Foundation

/// Writes messages to standard error, one per line, for development and small tools.
///
/// ```swift
/// let environment = ClientEnvironment(log: .printing(.debug))
/// ```
public struct PrintingLog: LogSink {
    /// The lowest level to write.
    public let level: LogLevel

    /// Creates a log.
    ///
    /// - Parameter level: The lowest level to write.
    public init(level: LogLevel = .info) { self.level = level }

    /// Writes a message.
    public func log(_ entry: LogEntry) {
        let fields = entry.fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let line = "\(entry.level) \(entry.event): \(entry.message)\(fields)\n"
        // If standard error can't be written to, there is nowhere to report it.
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
    }
}

extension LogSink where Self == PrintingLog {
    /// Returns a log that writes messages of a level and above to standard error.
    public static func printing(_ level: LogLevel = .info) -> PrintingLog { PrintingLog(level: level) }
}
