import Experimentation
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The files of a store: the database, its log and index, the lock, the reserve, and one damaged predecessor.
struct StoreFile: Sendable {
    /// The database.
    let path: String

    /// Takes a file's place in the file system.
    init(_ url: URL) throws(ExperimentationError) {
        guard url.isFileURL, !url.path.isEmpty else {
            throw ExperimentationError(.configuration, "The store must be a file on this machine.")
        }
        path = url.standardizedFileURL.path
    }

    /// The lock beside it.
    var lockPath: String { path + "-lock" }
    /// Room that is kept on the disk.
    var ballastPath: String { path + "-reserve" }
    /// What a damaged file is moved to.
    var damagedPath: String { path + ".damaged" }

    /// Creates the folder (0700) and the file (0600) where they aren't there, and closes the file to others where it is.
    ///
    /// SQLite gives its log and its index the mode of the database, so the database is made before SQLite sees it.
    func prepare() throws(ExperimentationError) {
        let folder = (path as NSString).deletingLastPathComponent
        if !FileManager.default.fileExists(atPath: folder) {
            do {
                try FileManager.default.createDirectory(
                    atPath: folder,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
            } catch {
                throw ExperimentationError(.store, "The folder \(folder) can't be made.", cause: error)
            }
        }
        for file in [path, path + "-wal", path + "-shm", lockPath] { try close(file) }
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            _ = fchmod(descriptor, 0o600)
            _ = Self.close(descriptor)
        } else if errno != EEXIST {
            throw ExperimentationError(.store, "\(path) can't be made: \(String(cString: strerror(errno))).")
        }
    }

    /// Takes a file away from others; refuses what isn't a plain file.
    ///
    /// By name and not by descriptor: closing any descriptor of a database gives up this process's locks on it.
    private func close(_ file: String) throws(ExperimentationError) {
        var facts = stat()
        guard lstat(file, &facts) == 0 else { return }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw ExperimentationError(.store, "\(file) isn't a plain file; links and folders are not followed.")
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

    /// Moves the damaged database out of the way; the one before it is deleted.
    func setAside() throws {
        for ending in ["", "-wal"] {
            unlink(damagedPath + ending)
            if rename(path + ending, damagedPath + ending) != 0, errno != ENOENT {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
        }
        unlink(damagedPath + "-shm")
        unlink(path + "-shm")
    }

    /// Deletes the damaged predecessor: nobody can take one user's traces out of it.
    func forgetDamaged() {
        for ending in ["", "-wal", "-shm"] { unlink(damagedPath + ending) }
    }
}
