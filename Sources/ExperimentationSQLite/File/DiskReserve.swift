import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Disk space that is given up when no other is left, so that events can still be delivered and removed.
///
/// Deleting needs space too: SQLite writes to its log first. The log's maximum size is enough, because once the
/// log is back in the database, deletions need nothing but the log.
final class DiskReserve: Sendable {
    private let path: String
    private let size: Int
    private let isSpent = Atomic(false)

    /// Creates the file, if there is space for it.
    init(path: String, size: Int) {
        self.path = path
        self.size = size
        _ = fill()
    }

    /// Whether events may be added: the reserve must be there again first.
    func allowsAdding() -> Bool {
        guard isSpent.load(ordering: .relaxed) else { return true }
        guard fill() else { return false }
        isSpent.store(false, ordering: .relaxed)
        return true
    }

    /// Creates the file again, which may have been deleted with the store.
    func restore() { isSpent.store(!fill(), ordering: .relaxed) }

    /// Gives up the reserve.
    ///
    /// - Returns: Whether there was any.
    func spend() -> Bool {
        guard unlink(path) == 0 else { return false }
        isSpent.store(true, ordering: .relaxed)
        return true
    }

    /// Creates the file, or extends one that is too small: the process that created it died, or its limit is lower.
    ///
    /// - Returns: Whether the file is large enough.
    private func fill() -> Bool {
        // Opening a pipe would wait for a reader.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return false }
        if facts.st_size >= size || allot(descriptor) { return true }
        // A partial reserve would only take space from events.
        if facts.st_size == 0 { unlink(path) } else { ftruncate(descriptor, facts.st_size) }
        return false
    }

    private func allot(_ descriptor: Int32) -> Bool {
        #if canImport(Darwin)
            let zeros = [UInt8](repeating: 0, count: 65_536)
            var left = size
            while left > 0 {
                let written = write(descriptor, zeros, min(left, zeros.count))
                if written <= 0 { return false }
                left -= written
            }
            return true
        #else
            return posix_fallocate(descriptor, 0, off_t(size)) == 0
        #endif
    }
}
