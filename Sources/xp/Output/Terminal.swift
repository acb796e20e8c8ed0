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
    /// Whether standard output is a terminal that may be coloured.
    static var isColored: Bool {
        isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    }

    /// Whether standard error is a terminal, for progress.
    static var showsProgress: Bool { isatty(STDERR_FILENO) == 1 }

    /// Sees to it that a standard file that was closed stays so: whatever is opened next, a store perhaps, would get its
    /// number and what is written to it.
    static func keepPlaces() {
        for (number, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(number, F_GETFD) < 0 {
            // The lowest free number, which is this one; to read from it or write to it fails as if it were closed.
            _ = open("/dev/null", mode)
        }
    }

    /// Writes lines to standard error; what a terminal would obey is written as an escape.
    static func say(_ text: String) {
        let clear = showsProgress ? "\r\u{1B}[K" : ""
        try? FileHandle.standardError.write(contentsOf: Data((clear + plain(text) + "\n").utf8))
    }

    /// A text that a terminal shows and doesn't obey, its line breaks kept.
    static func plain(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { OneLine.of(String($0)) }
            .joined(separator: "\n")
    }

    /// Replaces the line of progress; writes nothing unless it is shown on a terminal.
    static func progress(_ line: String) {
        guard showsProgress else { return }
        try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K\(OneLine.of(String(line.prefix(100))))".utf8))
    }

    /// Takes the line of progress away.
    static func endProgress() {
        guard showsProgress else { return }
        try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K".utf8))
    }

    /// Writes a text to standard output.
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
    /// The text without a beginning that it may have.
    func trimming(prefix: String) -> String { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self }
}

/// JSON as the command line writes it.
enum JSONLine {
    /// A value on one line, keys sorted.
    static func text(_ value: FlagValue) -> String {
        var writer = JSONWriter(.asEncoder)
        // Values come from JSON, or are made of finite numbers here.
        guard (try? writer.value(value)) != nil else { return "null" }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// A value on several lines, keys sorted.
    static func pretty(_ value: FlagValue) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        return String(decoding: (try? encoder.encode(value)) ?? Data("null".utf8), as: UTF8.self) + "\n"
    }

    /// An error as every command writes it.
    static func error(_ code: ErrorCode, _ message: String, line: Int? = nil) -> FlagValue {
        var members: [String: FlagValue] = ["code": .string(code.rawValue), "message": .string(message)]
        if let line { members["line"] = .int(line) }
        return .object(members)
    }
}

extension Ledger {
    /// The ledger as it is printed wherever it is printed as JSON.
    var document: FlagValue {
        [
            "accepted": .int(accepted), "delivered": .int(delivered), "pending": .int(pending), "purged": .int(purged),
            "dropped": .object(
                Dictionary(dropped.map { ($0.key.rawValue, FlagValue.int($0.value)) }, uniquingKeysWith: { $1 })
            ),
        ]
    }
}
