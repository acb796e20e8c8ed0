import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The system's calls on files, by names that nothing here hides.
enum SystemFile {
    /// Opens a file to be read and lengthened, made for its owner alone if it isn't there; -1 if it can't be.
    static func opened(_ path: String) -> Int32 { open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600) }
    /// Closes a file.
    static func closed(_ descriptor: Int32) { _ = close(descriptor) }
    /// Writes from a place on; how many bytes were, or -1.
    static func written(_ bytes: [UInt8], from start: Int, to descriptor: Int32) -> Int {
        bytes.withUnsafeBytes { all in write(descriptor, all.baseAddress.map { $0 + start }, all.count - start) }
    }
    /// Reads from a place of the file; `nil` if not everything could be.
    static func read(_ count: Int, at place: Int, of descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: count)
        return pread(descriptor, &buffer, count, off_t(place)) == count ? buffer : nil
    }
    /// Cuts a file; whether it could be.
    static func cut(_ descriptor: Int32, to size: Int) -> Bool { ftruncate(descriptor, off_t(size)) == 0 }
    /// Has the disk take what was written; whether it did.
    static func synced(_ descriptor: Int32) -> Bool { fsync(descriptor) == 0 }
    /// Renames a file; whether it could be.
    static func renamed(_ path: String, to name: String) -> Bool { rename(path, name) == 0 }
    /// Whether there is something at a path.
    static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }
    /// How long an open file is; `nil` if it can't be told.
    static func size(_ descriptor: Int32) -> Int? {
        var found = stat()
        return fstat(descriptor, &found) == 0 ? Int(found.st_size) : nil
    }
    /// Whether a path leads to an open file.
    static func leads(_ path: String, to descriptor: Int32) -> Bool {
        var one = stat()
        var other = stat()
        return fstat(descriptor, &one) == 0 && stat(path, &other) == 0 && one.st_ino == other.st_ino
            && one.st_dev == other.st_dev
    }
    /// Why the last call failed.
    static var failure: Int32 { errno }
}
