import Foundation

/// The package's files, for the tests that read them.
struct Tree {
    /// The package's root folder.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// One source file.
    struct Source: Sendable, CustomStringConvertible {
        /// The path from the root.
        let path: String
        /// The text of the file.
        let text: String
        /// The text without comments and without the contents of string literals.
        let code: String

        init(path: String, text: String) {
            self.path = path
            self.text = text
            code = SwiftText.code(of: text)
        }

        var description: String { path }

        /// The imported modules, including `@testable` and scoped imports.
        var imports: [String] {
            code.split(separator: "\n").compactMap { line in
                var words = line.split(separator: " ").map(String.init)
                while let first = words.first,
                    first.hasPrefix("@") || ["public", "internal", "private"].contains(first)
                {
                    words.removeFirst()
                }
                guard words.first == "import", words.count >= 2 else { return nil }
                let scopes = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
                let name = scopes.contains(words[1]) && words.count > 2 ? words[2] : words[1]
                return name.split(separator: ".").first.map(String.init)
            }
        }
    }

    /// The sources of all library targets, read once.
    static let library =
        ["Sources/Experimentation", "Sources/AdapterKit", "Sources/ExperimentationSQLite"]
        .appending("Sources/ExperimentationTesting", "Adapters", "Conformance")
        .flatMap { files(in: $0) }

    /// The texts of all tests by path, read once.
    static let tests = texts(in: "Tests", ending: ".swift")

    /// The texts of the gateway's tests by path, read once.
    static let gatewayTests = texts(in: "Gateway/Tests", ending: ".swift")

    /// Returns the files below a folder with a suffix, sorted by path; skips hidden folders.
    static func files(in folder: String, ending: String = ".swift") -> [Source] {
        texts(in: folder, ending: ending).map { Source(path: $0.path, text: $0.text) }
    }

    private static func texts(in folder: String, ending: String) -> [(path: String, text: String)] {
        let base = root.appending(path: folder)
        guard let walk = FileManager.default.enumerator(atPath: base.path) else { return [] }
        return walk.compactMap { $0 as? String }
            .filter { $0.hasSuffix(ending) && !$0.split(separator: "/").contains { $0.hasPrefix(".") } }
            .sorted()
            .compactMap { name in
                let text = try? String(contentsOf: base.appending(path: name), encoding: .utf8)
                return text.map { ("\(folder)/\(name)", $0) }
            }
    }

    /// Returns the names of a folder's direct subfolders, sorted.
    static func folders(in folder: String) -> [String] {
        let base = root.appending(path: folder)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: base.path)) ?? []
        return names.filter { name in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: base.appending(path: name).path, isDirectory: &isFolder)
                && isFolder.boolValue && !name.hasPrefix(".")
        }
        .sorted()
    }

    /// Returns the text of a file; `nil` if it doesn't exist.
    static func text(of path: String) -> String? {
        try? String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The vendors, one folder each.
    static let vendors = folders(in: "Adapters").filter { !$0.hasSuffix(store) }

    /// The vendors whose facade has a durable default, in a folder next to the adapter's.
    static let durableVendors = folders(in: "Adapters").filter { $0.hasSuffix(store) }.map {
        String($0.dropLast(store.count))
    }

    private static let store = "SQLite"
}

/// As much of Swift's syntax as these tests need.
enum SwiftText {
    /// Compiles a pattern with simple word boundaries; by default, `\\b` doesn't match in `try!`.
    static func pattern(_ text: String) throws -> Regex<AnyRegexOutput> {
        try Regex(text).wordBoundaryKind(.simple)
    }

    /// Blanks out comments and the contents of string literals, so that words in them aren't taken for code.
    static func code(of text: String) -> String {
        var result: [UInt8] = []
        let bytes = Array(text.utf8)
        var index = 0
        result.reserveCapacity(bytes.count)
        // Compares bytes without creating arrays, which made this the slowest test.
        func at(_ position: Int, _ word: StaticString) -> Bool {
            guard position + word.utf8CodeUnitCount <= bytes.count else { return false }
            for offset in 0..<word.utf8CodeUnitCount where bytes[position + offset] != word.utf8Start[offset] {
                return false
            }
            return true
        }
        while index < bytes.count {
            let byte = bytes[index]
            if byte != UInt8(ascii: "/"), byte != UInt8(ascii: "\"") {
                result.append(byte)
                index += 1
            } else if at(index, "//") {
                while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
            } else if at(index, "/*") {
                index += 2
                while index < bytes.count, !at(index, "*/") {
                    if bytes[index] == UInt8(ascii: "\n") { result.append(bytes[index]) }
                    index += 1
                }
                index += 2
            } else if at(index, "\"\"\"") {
                index += 3
                while index < bytes.count, !at(index, "\"\"\"") {
                    if bytes[index] == UInt8(ascii: "\n") { result.append(bytes[index]) }
                    index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                index += 3
                result.append(contentsOf: "\"\"".utf8)
            } else if bytes[index] == UInt8(ascii: "\"") {
                index += 1
                while index < bytes.count, bytes[index] != UInt8(ascii: "\""), bytes[index] != UInt8(ascii: "\n") {
                    index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                index += 1
                result.append(contentsOf: "\"\"".utf8)
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

extension [String] {
    /// Returns the strings with some more appended.
    func appending(_ more: String...) -> [String] { self + more }
}
