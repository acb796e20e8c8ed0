import Foundation

/// Writes messages to standard error, a line each, for development and small tools.
///
/// ```swift
/// let environment = ClientEnvironment(log: .printing(.debug))
/// ```
public struct PrintingLog: LogSink {
    /// The least important level that is written.
    public let level: LogLevel

    /// Creates a log.
    ///
    /// - Parameter level: The least important level that is written.
    public init(level: LogLevel = .info) { self.level = level }

    /// Writes a message.
    public func log(_ entry: LogEntry) {
        let fields = entry.fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let line = "\(entry.level) \(entry.event): \(entry.message)\(fields)\n"
        // Who can't be written to can't be told either.
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
    }
}

extension LogSink where Self == PrintingLog {
    /// Writes messages from a level on to standard error.
    public static func printing(_ level: LogLevel = .info) -> PrintingLog { PrintingLog(level: level) }
}
