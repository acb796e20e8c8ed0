import Experimentation
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Standard output and standard error.
enum Terminal {
    /// Whether standard output is a terminal that supports color.
    static var isColored: Bool {
        obeysEscapes(STDOUT_FILENO) && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
    }

    /// Whether standard error is a terminal that can show a progress line.
    static var showsProgress: Bool { obeysEscapes(STDERR_FILENO) }

    private static let isDumb = ProcessInfo.processInfo.environment["TERM"] == "dumb"

    private static func obeysEscapes(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 && !isDumb }

    /// Opens `/dev/null` for each closed standard stream, so that no store or socket gets its descriptor, and with it
    /// the output.
    static func keepPlaces() {
        for (number, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(number, F_GETFD) < 0 {
            // `open` returns the lowest free descriptor, which is this one; the mode makes reads and writes fail as on
            // a closed one.
            _ = open("/dev/null", mode)
        }
    }

    /// Writes lines to standard error, with control characters escaped.
    static func say(_ text: String) {
        let clear = showsProgress ? "\r\u{1B}[K" : ""
        try? FileHandle.standardError.write(contentsOf: Data((clear + plain(text) + "\n").utf8))
    }

    /// Returns lines of text, each with its control characters and line breaks escaped.
    static func plain(_ lines: [String]) -> String { lines.map { OneLine.of($0) + "\n" }.joined() }

    /// Escapes control characters other than line breaks.
    static func plain(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { OneLine.of(String($0)) }
            .joined(separator: "\n")
    }

    /// Replaces the progress line; does nothing unless standard error is a terminal that can show one.
    static func progress(_ line: String) {
        guard showsProgress else { return }
        try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K\(OneLine.of(String(line.prefix(100))))".utf8))
    }

    /// Clears the progress line.
    static func endProgress() {
        guard showsProgress else { return }
        try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K".utf8))
    }

    /// Writes text to standard output.
    static func write(_ text: String) throws { try write(Array(text.utf8)) }

    /// Writes bytes to standard output.
    static func write(_ bytes: [UInt8]) throws {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(bytes))
        } catch {
            throw Failure(.checkFailed, "standard output can't be written")
        }
    }
}

extension String {
    /// Returns the text without a prefix, if it has that prefix.
    func trimming(prefix: String) -> String { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self }
}

/// Formats JSON for output.
enum JSONLine {
    /// Formats a value on one line, keys sorted.
    static func text(_ value: FlagValue) -> String {
        var writer = JSONWriter(.asEncoder)
        // Can't fail: values come from JSON or are finite numbers.
        guard (try? writer.value(value)) != nil else { return "null" }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Formats a value on several lines, keys sorted.
    static func pretty(_ value: FlagValue) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        return String(decoding: (try? encoder.encode(value)) ?? Data("null".utf8), as: UTF8.self) + "\n"
    }

    /// Formats an error, the same way for every command.
    static func error(_ code: ErrorCode, _ message: String, line: Int? = nil) -> FlagValue {
        var members: [String: FlagValue] = ["code": .string(code.rawValue), "message": .string(message)]
        if let line { members["line"] = .int(line) }
        return .object(members)
    }
}

extension Ledger {
    /// The ledger as JSON.
    var document: FlagValue {
        [
            "accepted": .int(accepted), "delivered": .int(delivered), "pending": .int(pending), "purged": .int(purged),
            "dropped": .object(
                Dictionary(dropped.map { ($0.key.rawValue, FlagValue.int($0.value)) }, uniquingKeysWith: { $1 })
            ),
        ]
    }
}
