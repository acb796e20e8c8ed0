import Experimentation
public import Logging

/// Passes the library's messages on to a logger of swift-log.
///
/// ```swift
/// let environment = ClientEnvironment(log: .logger(Logger(label: "shop.experiments")))
/// ```
///
/// The sentence becomes the message, and the stable name of what happened becomes the metadata `event`, beside the message's
/// own fields. What the logger's level leaves out isn't even made.
public struct LoggerSink: LogSink {
    private let logger: Logger

    /// Creates a sink.
    ///
    /// - Parameter logger: Where messages go; its level counts, also one that its handler changes later.
    public init(_ logger: Logger) { self.logger = logger }

    /// The least important level that the logger takes.
    public var level: LogLevel {
        switch logger.logLevel {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        // Nothing is said here that lies between the two.
        case .notice, .warning: .warning
        case .error: .error
        // More important than anything that is said here.
        case .critical: .off
        }
    }

    /// Passes a message on.
    public func log(_ entry: LogEntry) {
        guard let level = Logger.Level(entry.level) else { return }
        var metadata = Logger.Metadata(uniqueKeysWithValues: entry.fields.map { ($0.key, .string($0.value)) })
        metadata["event"] = .string(entry.event)
        logger.log(level: level, "\(entry.message)", metadata: metadata, source: "Experimentation")
    }
}

extension LogSink where Self == LoggerSink {
    /// Passes messages on to a logger of swift-log.
    public static func logger(_ logger: Logger) -> LoggerSink { LoggerSink(logger) }
}

extension Logger.Level {
    /// The same level in swift-log's words; `nil` for none.
    fileprivate init?(_ level: LogLevel) {
        switch level {
        case .trace: self = .trace
        case .debug: self = .debug
        case .info: self = .info
        case .warning: self = .warning
        case .error: self = .error
        case .off: return nil
        }
    }
}
