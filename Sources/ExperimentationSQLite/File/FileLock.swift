import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A lock beside the store that tells whether another process has it open; the system releases it when a process dies.
///
/// It isn't SQLite's own lock, which comes and goes with transactions: this one is held from opening to closing. The
/// file has room for a copy of the store's ledgers.
final class FileLock: Sendable {
    private let descriptor: Mutex<Int32>
    private let written = Mutex(AccountsCopy())

    /// Opens the lock file, which only its owner can access.
    init(path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        fchmod(descriptor, 0o600)
        self.descriptor = Mutex(descriptor)
    }

    deinit { close(descriptor.withLock { $0 }) }

    /// Releases the lock, before the file itself is closed.
    func release() { descriptor.withLock { _ = flock($0, LOCK_UN) } }

    /// Takes the lock exclusively for a moment; others that arrive meanwhile wait.
    ///
    /// - Returns: Whether no other process has the file open.
    func tryAlone() -> Bool {
        let isAlone = takeAlone()
        // If upgrading fails the lock is lost, so take it again in either case.
        descriptor.withLock { _ = flock($0, LOCK_SH) }
        return isAlone
    }

    /// Takes the lock exclusively, if no other process has it.
    func takeAlone() -> Bool { descriptor.withLock { flock($0, LOCK_EX | LOCK_NB) } == 0 }

    /// Takes the lock together with others; waits for an exclusive holder, up to a limit.
    func takeTogether(within seconds: Double) -> Bool {
        for _ in 0...Int(max(0, min(seconds, 3_600)) * 100) {
            if descriptor.withLock({ flock($0, LOCK_SH | LOCK_NB) }) == 0 { return true }
            usleep(10_000)
        }
        return false
    }

    /// Exchanges its file and lock with another's.
    func exchange(with other: FileLock) {
        let theirs = other.descriptor.withLock { $0 }
        let ours = descriptor.withLock { ours in
            defer { ours = theirs }
            return ours
        }
        other.descriptor.withLock { $0 = ours }
        written.withLock { $0 = AccountsCopy() }
    }

    // MARK: The copy of the ledgers

    /// The stored copy, if it is complete.
    func accounts() -> AccountsCopy? {
        var bytes = [UInt8](repeating: 0, count: Self.mostBytes)
        let count = descriptor.withLock { pread($0, &bytes, bytes.count, 0) }
        return count > 0 ? AccountsCopy(Array(bytes.prefix(count))) : nil
    }

    /// Overwrites the stored copy if it differs.
    func write(_ copy: AccountsCopy) {
        written.withLock { written in
            if written == copy { return }
            let bytes = copy.bytes
            let isWritten = bytes.count <= Self.mostBytes && overwrite(bytes)
            // No copy is better than a wrong one.
            if !isWritten { truncate() }
            written = copy
        }
    }

    /// Removes the copy, which belongs to another file.
    func clear() {
        written.withLock { written in
            truncate()
            written = AccountsCopy()
        }
    }

    private func truncate() { descriptor.withLock { _ = ftruncate($0, 0) } }

    private func overwrite(_ bytes: [UInt8]) -> Bool {
        descriptor.withLock { pwrite($0, bytes, bytes.count, 0) } == bytes.count
    }

    private static let mostBytes = 65_536
}
