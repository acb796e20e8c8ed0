import Experimentation

/// Flagship's log levels; each includes those below it.
public enum FlagshipLogLevel: Int, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Nothing.
    case none = 0
    /// Exceptions; none are logged here, because every thrown error reaches the caller.
    case exceptions = 1
    /// Failures.
    case error = 2
    /// Warnings.
    case warning = 3
    /// Details for debugging.
    case debug = 4
    /// Normal events; here more verbose than ``debug``, as in the original SDK.
    case info = 5
    /// Everything.
    case all = 6

    /// Orders by verbosity.
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// Whether a message of a neutral level is logged.
    func wants(_ level: LogLevel) -> Bool {
        switch level {
        case .error: self >= .error
        case .warning: self >= .warning
        case .debug: self >= .debug
        case .info: self >= .info
        case .trace: self >= .all
        case .off: false
        }
    }
}

/// Passes on the messages that a Flagship level includes.
struct FlagshipLevelledLog: LogSink {
    let sink: any LogSink
    let wanted: FlagshipLogLevel

    var level: LogLevel { wanted == .none ? .off : sink.level }

    func log(_ entry: LogEntry) {
        if wanted.wants(entry.level) { sink.log(entry) }
    }
}

/// The area of a message, by the vendor's tags.
enum FlagshipTag: String {
    case initialization = "INITIALIZATION"
    case visitor = "VISITOR"
    case updateContext = "UPDATE_CONTEXT"
    case synchronize = "SYNCHRONIZE"
    case hit = "HIT"
    case activate = "ACTIVATE"
    case authenticate = "AUTHENTICATE"
    case unauthenticate = "UNAUTHENTICATE"
    case consent = "CONSENT"
    case cache = "CACHE"
    case flag = "FLAG"
}

extension LogSink {
    /// Logs a message under one of the vendor's tags.
    func log(_ level: LogLevel, _ tag: FlagshipTag, _ message: @autoclosure () -> String) {
        log(level, "flagship.\(tag.rawValue)", "Flagship - \(tag.rawValue) - \(message())")
    }
}
