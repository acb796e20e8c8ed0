/// Where the library logs its messages.
///
/// The library itself never prints.
public protocol LogSink: Sendable {
    /// The lowest level to log; messages below it are not even built.
    var level: LogLevel { get }
    /// Takes one message. Called from any task; should return at once.
    func log(_ entry: LogEntry)
}

/// The importance of a message.
public enum LogLevel: Int, Sendable, Hashable, Codable, Comparable, CaseIterable {
    /// Every step.
    case trace
    /// Details for debugging.
    case debug
    /// Normal events worth knowing.
    case info
    /// Something unusual that was worked around.
    case warning
    /// A failure.
    case error
    /// No messages; only for thresholds.
    case off

    /// Orders by importance.
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// One log message: a stable event name, a sentence for people, fields for programs.
public struct LogEntry: Sendable, Hashable {
    /// The message's importance.
    public var level: LogLevel
    /// A stable name, such as `delivery.retry`.
    public var event: String
    /// What happened, for a person, in one line; without secrets or personal data.
    public let message: String
    /// The details for programs; redacted like the message, and each in one line.
    public let fields: [String: String]

    /// Creates a message.
    ///
    /// Characters from outside that could forge, hide or reverse a line are escaped as `\u{a}`: control characters,
    /// line and paragraph separators, and marks that change the direction of writing.
    public init(_ level: LogLevel, _ event: String, _ message: String, fields: [String: String] = [:]) {
        self.level = level
        self.event = event
        self.message = OneLine.of(message)
        self.fields = fields.mapValues(OneLine.of)
    }
}

/// Strings that stay on one line, however they are shown.
package enum OneLine {
    /// Returns the text with an escape, such as `\u{1b}`, for every character that a terminal would obey and a reader
    /// wouldn't see.
    package static func of(_ text: String) -> String {
        // Nearly every text is plain ASCII, which is quick to check.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return text }
        var line = ""
        for scalar in text.unicodeScalars {
            if isPlain(scalar) {
                line.unicodeScalars.append(scalar)
            } else {
                line += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return line
    }

    /// Whether a character is neither a control character, a line break nor a mark that changes the direction of
    /// writing.
    package static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x61c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfeff: false
        default: true
        }
    }
}

extension LogSink {
    /// Logs a message, which is built only if its level is wanted.
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

/// A sink that discards all messages.
public struct NoLog: LogSink {
    /// Creates a sink.
    public init() {}
    /// No level is logged.
    public var level: LogLevel { .off }
    /// Does nothing.
    public func log(_ entry: LogEntry) {}
}
