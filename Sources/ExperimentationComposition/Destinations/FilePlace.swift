import Foundation

/// The resolved location of an event file, and whether it can be rotated and truncated.
struct FilePlace: Sendable, Equatable {
    /// The path with all links resolved.
    var path = ""
    /// Whether it can only be written to: a device, a pipe, or one of the process's own descriptors.
    var isStream = false

    /// Paths of descriptors that are already open; they belong to the code that opened them, even if they are regular files.
    private static let opened = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/"]
    /// The maximum number of links that are followed.
    private static let links = 16

    /// Whether a path leads to something that must not be renamed, truncated or read.
    static func isStream(_ path: String) -> Bool {
        if SystemFile.isSpecial(path) { return true }
        var path = path
        for _ in 0..<links {
            if opened.contains(where: { path.hasPrefix($0) }) { return true }
            guard let next = SystemFile.link(path) else { return false }
            path = next.hasPrefix("/") ? next : URL(filePath: path).deletingLastPathComponent().path + "/" + next
        }
        return false
    }
}
