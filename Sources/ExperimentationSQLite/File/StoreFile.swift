import Experimentation
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The files of a store: the database, its log and index, the lock, the reserve, and damaged predecessors.
struct StoreFile: Sendable {
    /// The database.
    let path: String
    /// The path as the caller spelled it, for messages.
    let name: String

    /// Resolves a file's location in the file system.
    init(_ url: URL) throws(ExperimentationError) {
        guard url.isFileURL, !url.path.isEmpty else {
            throw ExperimentationError(.configuration, "The store must be a file on this machine.")
        }
        path = url.standardizedFileURL.path
        name = url.relativePath
    }

    /// The lock beside it.
    var lockPath: String { path + "-lock" }
    /// Reserved disk space.
    var reservePath: String { path + "-reserve" }
    /// Where a damaged file is moved; the first one stays there.
    var damagedPath: String { path + ".damaged" }
    /// The copy of a damaged file while it is read, and then its replacement while that is written.
    var salvagePath: String { path + ".salvage" }
    /// The finished replacement of a damaged file, until that is set aside.
    private var repairedPath: String { path + ".repaired" }

    /// How many damaged predecessors are kept: the first, and the latest.
    static let mostDamaged = 4

    /// Where damaged predecessors are moved: the first without a number.
    private var damagedPaths: [String] {
        [damagedPath] + (2...Self.mostDamaged).map { damagedPath + "-" + String($0) }
    }

    /// Creates the folder, accessible by its owner alone, if it doesn't exist.
    func prepareFolder() throws(ExperimentationError) {
        let folder = (path as NSString).deletingLastPathComponent
        if !FileManager.default.fileExists(atPath: folder) {
            do {
                try FileManager.default.createDirectory(
                    atPath: folder,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
            } catch {
                let named = (name as NSString).deletingLastPathComponent
                throw ExperimentationError(.store, "The folder \(named) can't be made.", cause: error)
            }
        }
        // Done before anything is created beside them.
        for file in [path, path + "-wal", path + "-shm", lockPath] { try close(file) }
    }

    /// Creates the file (0600) if it doesn't exist.
    ///
    /// SQLite gives its log and its index the mode of the database, so create the database before SQLite sees it.
    ///
    /// - Returns: Whether the file didn't exist.
    @discardableResult
    func prepare() throws(ExperimentationError) -> Bool {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            _ = fchmod(descriptor, 0o600)
            _ = Self.close(descriptor)
            return true
        } else if errno != EEXIST {
            throw ExperimentationError(.store, "\(name) can't be made: \(String(cString: strerror(errno))).")
        }
        return false
    }

    /// Whether the file exists and is empty: truncated, unless it is new.
    var isEmpty: Bool {
        var facts = stat()
        return lstat(path, &facts) == 0 && facts.st_size == 0
    }

    /// Removes others' access to a file; refuses anything but a regular file.
    ///
    /// Works by name and not by descriptor: closing any descriptor of a database drops this process's locks on it.
    private func close(_ file: String) throws(ExperimentationError) {
        var facts = stat()
        guard lstat(file, &facts) == 0 else { return }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            let named = name + file.dropFirst(path.count)
            throw ExperimentationError(.store, "\(named) isn't a plain file; links and folders are not followed.")
        }
        if facts.st_mode & 0o777 != 0o600 { _ = chmod(file, 0o600) }
    }

    private static func close(_ descriptor: Int32) -> Int32 {
        #if canImport(Glibc)
            Glibc.close(descriptor)
        #elseif canImport(Musl)
            Musl.close(descriptor)
        #else
            Darwin.close(descriptor)
        #endif
    }

    /// Moves the damaged database out of the way.
    ///
    /// The first one ever set aside stays, because it has lost least; if there are too many, the last one is deleted.
    func setAside() throws {
        let free = damagedPaths.first { !Self.isThere($0) && !Self.isThere($0 + "-wal") }
        let place = free ?? damagedPaths[Self.mostDamaged - 1]
        for ending in ["", "-wal"] {
            unlink(place + ending)
            if rename(path + ending, place + ending) != 0, errno != ENOENT {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
        }
        unlink(place + "-shm")
        unlink(path + "-shm")
    }

    /// Notes that the replacement of the damaged file is finished.
    func finishRepair() throws {
        guard rename(salvagePath, repairedPath) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    /// Puts a finished replacement in the place of a damaged file that was set aside; the process that finished it may
    /// have died before that.
    ///
    /// - Returns: Whether there was one to put there.
    func takeRepaired() -> Bool {
        var facts = stat()
        guard !Self.isThere(path), lstat(repairedPath, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            return false
        }
        // A log that is still there is the damaged file's.
        for ending in ["-wal", "-shm"] { unlink(path + ending) }
        return rename(repairedPath, path) == 0
    }

    private static func isThere(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0
    }

    /// Deletes the damaged predecessors: one user's traces can't be removed from them.
    func forgetDamaged() {
        for place in damagedPaths { Self.unlinkAll(place) }
        forgetSalvage()
        forgetRepaired()
    }

    /// Deletes the copy from which a damaged file was read, or an unfinished replacement.
    func forgetSalvage() { Self.unlinkAll(salvagePath) }

    /// Deletes a replacement that isn't needed: the file is there.
    func forgetRepaired() { unlink(repairedPath) }

    private static func unlinkAll(_ path: String) {
        for ending in ["", "-wal", "-shm", "-journal"] { unlink(path + ending) }
    }
}
