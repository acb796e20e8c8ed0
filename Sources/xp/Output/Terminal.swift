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

    /// Writes a line to standard error.
    static func say(_ line: String) {
        let clear = showsProgress ? "\r\u{1B}[K" : ""
        try? FileHandle.standardError.write(contentsOf: Data((clear + line + "\n").utf8))
    }

    /// Replaces the line of progress; writes nothing where nobody would see it change.
    static func progress(_ line: String) {
        guard showsProgress else { return }
        try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K\(line.prefix(100))".utf8))
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

    /// Writes a document to a file, or to standard output if there is none.
    static func deliver(_ text: String, to path: String?) throws {
        guard let path else { return try write(text) }
        do {
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw Failure(.input, "\(path): can't be written; expected a file in a folder that exists")
        }
    }
}

/// JSON as the command line writes it.
enum JSONLine {
    /// A value on one line, keys sorted.
    static func text(_ value: FlagValue) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Values come from JSON, or are made of finite numbers here.
        return String(decoding: (try? encoder.encode(value)) ?? Data("null".utf8), as: UTF8.self)
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
