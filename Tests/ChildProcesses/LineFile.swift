import Foundation

/// A file that lines are added to, in a way that survives the death of the process.
public final class LineFile: Sendable {
    private let descriptor: Int32

    /// Opens a file, or makes it.
    ///
    /// - Throws: When that isn't possible.
    public init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }

    /// Adds a line in one write, so that lines of several processes don't mix.
    public func add(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }

    /// The whole lines of a file.
    public static func lines(of path: String) -> [String] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        var lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        lines.removeLast()
        return lines.map(String.init)
    }
}
