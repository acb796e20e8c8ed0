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
    /// What happened, for a person, in one line; it holds neither secrets nor personal data.
    public let message: String
    /// The same for programs; values are redacted as the message is, and each is one line.
    public let fields: [String: String]

    /// Creates a message.
    ///
    /// What a name from outside could use to forge a line, hide one or turn it round is written as an escape, `\u{a}`:
    /// control characters, line and paragraph separators, and marks that change the direction of writing.
    public init(_ level: LogLevel, _ event: String, _ message: String, fields: [String: String] = [:]) {
        self.level = level
        self.event = event
        self.message = OneLine.of(message)
        self.fields = fields.mapValues(OneLine.of)
    }
}

/// Texts that stay in their line, however they are shown.
package enum OneLine {
    /// The text with an escape, `\u{1b}`, for whatever a terminal would obey and a reader wouldn't see.
    package static func of(_ text: String) -> String {
        // Nearly every text is plain, and found to be so without looking at characters.
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

    /// Whether a character is neither a control, a line break nor a mark that changes the direction of writing.
    package static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x61c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfeff: false
        default: true
        }
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
