/// Where the library's own messages go.
///
/// It never prints by itself.
public protocol LogSink: Sendable {
    /// The least important level that is wanted; messages below it are not even made.
    var level: LogLevel { get }
    /// Takes one message. Called from any task; it should return at once.
    func log(_ entry: LogEntry)
}

/// How important a message is.
public enum LogLevel: Int, Sendable, Hashable, Codable, Comparable, CaseIterable {
    /// Each step.
    case trace
    /// What helps to find a mistake.
    case debug
    /// What is worth knowing.
    case info
    /// What is odd, but worked around.
    case warning
    /// What failed.
    case error
    /// Nothing at all; a threshold only.
    case off

    /// Orders by importance.
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// One message: a stable event name, a sentence for people, fields for programs.
public struct LogEntry: Sendable, Hashable {
    /// How important it is.
    public var level: LogLevel
    /// A stable name, such as `delivery.retry`.
    public var event: String
    /// What happened, for a person; it holds neither secrets nor personal data.
    public var message: String
    /// The same for programs; values are redacted as the message is.
    public var fields: [String: String]

    /// Creates a message.
    public init(_ level: LogLevel, _ event: String, _ message: String, fields: [String: String] = [:]) {
        self.level = level
        self.event = event
        self.message = message
        self.fields = fields
    }
}

extension LogSink {
    /// Logs a message, which is made only if its level is wanted.
    public func log(
        _ level: LogLevel,
        _ event: String,
        _ message: @autoclosure () -> String,
        fields: @autoclosure () -> [String: String] = [:]
    ) {
        guard level >= self.level, self.level != .off else { return }
        log(LogEntry(level, event, message(), fields: fields()))
    }
}

/// Takes no messages.
public struct NoLog: LogSink {
    /// Creates a sink.
    public init() {}
    /// Nothing is wanted.
    public var level: LogLevel { .off }
    /// Does nothing.
    public func log(_ entry: LogEntry) {}
}
