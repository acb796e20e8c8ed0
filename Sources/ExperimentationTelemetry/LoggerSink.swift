import Experimentation
public import Logging

/// Forwards the library's messages to a swift-log logger.
///
/// ```swift
/// let environment = ClientEnvironment(log: .logger(Logger(label: "shop.experiments")))
/// ```
///
/// The sentence becomes the message; the event's stable name becomes the metadata `event`, next to the message's own
/// fields. Messages below the logger's level aren't built.
public struct LoggerSink: LogSink {
    private let logger: Logger

    /// Creates a sink.
    ///
    /// - Parameter logger: The logger; later changes of its handler's level take effect.
    public init(_ logger: Logger) { self.logger = logger }

    /// The lowest level that the logger accepts.
    public var level: LogLevel {
        switch logger.logLevel {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        // The library has no level in between.
        case .notice, .warning: .warning
        case .error: .error
        // Above the library's highest level.
        case .critical: .off
        }
    }

    /// Forwards a message.
    public func log(_ entry: LogEntry) {
        guard let level = Logger.Level(entry.level) else { return }
        var metadata = Logger.Metadata(uniqueKeysWithValues: entry.fields.map { ($0.key, .string($0.value)) })
        metadata["event"] = .string(entry.event)
        logger.log(level: level, "\(entry.message)", metadata: metadata, source: "Experimentation")
    }
}

extension LogSink where Self == LoggerSink {
    /// Forwards messages to a swift-log logger.
    public static func logger(_ logger: Logger) -> LoggerSink { LoggerSink(logger) }
}

extension Logger.Level {
    /// The equivalent level in swift-log; `nil` for `off`.
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
