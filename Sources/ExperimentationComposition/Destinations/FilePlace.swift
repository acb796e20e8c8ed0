import Foundation

/// Where a file of events really lies, and whether it is one that may be put aside and cut.
struct FilePlace: Sendable, Equatable {
    /// Where it lies, behind all links.
    var path = ""
    /// Whether it is only written into: a device, a pipe, or what the process was given as its output.
    var isStream = false

    /// What stands for a file that is already open: it belongs to whoever opened it, whatever kind it is.
    private static let opened = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/"]
    /// How many links in a row are followed.
    private static let links = 16

    /// Whether a path leads to something that isn't to be renamed, cut or read.
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
