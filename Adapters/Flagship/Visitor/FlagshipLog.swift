import Experimentation

/// Flagship's levels of logging; each includes those below it.
public enum FlagshipLogLevel: Int, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Nothing.
    case none = 0
    /// Exceptions; nothing here throws what isn't handed on, so there are none.
    case exceptions = 1
    /// What failed.
    case error = 2
    /// What is odd.
    case warning = 3
    /// What helps to find a mistake.
    case debug = 4
    /// What is worth knowing; here this says more than ``debug``, as in the original.
    case info = 5
    /// Everything.
    case all = 6

    /// Orders by how much is said.
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// Whether a message of a neutral level is wanted.
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

/// Hands on what a Flagship level lets through.
struct FlagshipLevelledLog: LogSink {
    let sink: any LogSink
    let wanted: FlagshipLogLevel

    var level: LogLevel { wanted == .none ? .off : sink.level }

    func log(_ entry: LogEntry) {
        if wanted.wants(entry.level) { sink.log(entry) }
    }
}

/// The area that a message is about, by the vendor's tags.
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
