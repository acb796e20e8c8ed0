import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The target of `--output`: a regular file is replaced atomically and keeps its mode and owner, or is overwritten where
/// its folder doesn't allow that; anything else, such as a device or a pipe, is written to directly.
enum OutputFile {
    /// The target of a path, with links resolved.
    private enum Place {
        case nothing
        case file(Rights)
        case folder
        case other
        /// A link loop, or a folder that may not be entered.
        case unreachable
    }

    /// A file's mode and owner.
    private struct Rights {
        let mode: mode_t
        let owner: uid_t
        let group: gid_t

        init(_ information: stat) {
            (mode, owner, group) = (information.st_mode & 0o7777, information.st_uid, information.st_gid)
        }

        /// Applies the rights to another file as far as allowed; setuid and setgid only if owner and group could be
        /// set, too.
        func give(to descriptor: Int32) {
            let isOwned = fchown(descriptor, owner, group) == 0
            if !isOwned { _ = fchown(descriptor, uid_t.max, group) }
            _ = fchmod(descriptor, isOwned ? mode : mode & 0o777)
        }
    }

    private static func place(at path: String) -> Place {
        var information = stat()
        guard stat(path, &information) == 0 else { return errno == ENOENT ? .nothing : .unreachable }
        switch information.st_mode & S_IFMT {
        case S_IFREG: return .file(Rights(information))
        case S_IFDIR: return .folder
        default: return .other
        }
    }

    /// Throws if the file can't be written, so that a long command fails before its work.
    static func expectWritable(_ path: String?) throws {
        guard let path else { return }
        switch place(at: path) {
        case .folder, .unreachable: throw unwritable(path)
        case .other, .file:
            if access(path, W_OK) != 0 { throw unwritable(path, expected: "a file that may be changed") }
        case .nothing:
            let folder = folder(of: target(of: path))
            guard !path.isEmpty, case .folder = place(at: folder) else { throw unwritable(path) }
            if access(folder, W_OK) != 0 { throw unwritable(path, expected: "a folder that may be changed") }
        }
    }

    /// Writes a document to a file, or to standard output without one.
    static func deliver(_ text: String, to path: String?) throws {
        guard let path else { return try Terminal.write(text) }
        switch place(at: path) {
        case .folder, .unreachable: throw unwritable(path)
        case .other: try write(text, into: path, with: O_WRONLY)
        case .file(let rights): try replace(target(of: path), with: text, rights, named: path)
        case .nothing: try replace(target(of: path), with: text, nil, named: path)
        }
    }

    private static func write(_ text: String, into path: String, with flags: Int32) throws {
        let descriptor = open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw unwritable(path, because: errno) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do { try handle.write(contentsOf: Data(text.utf8)) } catch { throw incomplete(path) }
    }

    /// Writes a temporary file and renames it, so that readers never see a partial one.
    ///
    /// An existing file is overwritten if nothing may be created in its folder, or if nothing may replace it, as in a
    /// sticky folder or if it is mounted there.
    private static func replace(_ target: String, with text: String, _ rights: Rights?, named path: String) throws {
        let beside = folder(of: target) + "/.xp-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        // Not readable by others until it has the old file's rights.
        let descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, rights == nil ? 0o666 : 0o600)
        guard descriptor >= 0 else {
            let reason = errno
            return try overwrite(rights, path, with: text, because: reason)
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: Data(text.utf8))
            // Last, because writing clears setuid and setgid.
            rights?.give(to: descriptor)
            try handle.close()
        } catch {
            unlink(beside)
            throw incomplete(path)
        }
        if rename(beside, target) == 0 { return }
        let reason = errno
        unlink(beside)
        try overwrite(rights, path, with: text, because: reason)
    }

    /// Overwrites an existing file if that can succeed where replacing it failed.
    private static func overwrite(
        _ rights: Rights?,
        _ path: String,
        with text: String,
        because reason: Int32
    ) throws {
        guard rights != nil, [EACCES, EPERM, EROFS, EBUSY, EXDEV].contains(reason) else {
            throw unwritable(path, because: reason)
        }
        try write(text, into: path, with: O_WRONLY | O_TRUNC)
    }

    /// Resolves a path's links, even if the last one points to nothing yet.
    private static func target(of path: String) -> String {
        var path = path
        for _ in 0..<40 {
            guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return path }
            path = next.hasPrefix("/") ? next : folder(of: path) + "/" + next
        }
        return path
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func unwritable(
        _ path: String,
        expected: String = "a file in a folder that exists"
    ) -> Failure {
        Failure(.input, "\(path.isEmpty ? "--output" : path): can't be written; expected \(expected)")
    }

    private static func incomplete(_ path: String) -> Failure {
        Failure(.input, "\(path): can't be written completely; the disk may be full")
    }

    private static func unwritable(_ path: String, because reason: Int32) -> Failure {
        Failure(.input, "\(path): can't be written: \(String(cString: strerror(reason)))")
    }
}
