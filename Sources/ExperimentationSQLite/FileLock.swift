import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A lock beside the store that tells whether anybody else has it open; the system lets go of it when a process dies.
///
/// It isn't SQLite's own lock, which comes and goes with transactions: this one is held from opening to closing.
final class FileLock: Sendable {
    private let descriptor: Int32

    /// Opens the lock file, which is created for its owner alone.
    init(path: String) throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        fchmod(descriptor, 0o600)
    }

    deinit { close(descriptor) }

    /// Lets go of the lock, before the file itself is.
    func release() { _ = flock(descriptor, LOCK_UN) }

    /// Whether nobody else has the file open at this moment; others who come at just this moment wait.
    var isAlone: Bool {
        let isAlone = takeAlone()
        // A lock that can't be raised is lost, and has to be taken again in either case.
        _ = flock(descriptor, LOCK_SH)
        return isAlone
    }

    /// Takes the lock for this one alone, if nobody else has it.
    func takeAlone() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// Takes the lock together with others; waits for one who has it alone, but not for ever.
    func takeTogether(within seconds: Double) -> Bool {
        for _ in 0...Int(max(0, min(seconds, 3_600)) * 100) {
            if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return true }
            usleep(10_000)
        }
        return false
    }
}
