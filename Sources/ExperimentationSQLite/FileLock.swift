import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A lock beside the store that tells whether another process has it open; the system lets go of it when a process dies.
///
/// It isn't SQLite's own lock, which comes and goes with transactions: this one is held from opening to closing. The file
/// has room for a copy of the store's accounts.
final class FileLock: Sendable {
    private let descriptor: Mutex<Int32>
    private let written = Mutex(AccountsCopy())

    /// Opens the lock file, which is created for its owner alone.
    init(path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        fchmod(descriptor, 0o600)
        self.descriptor = Mutex(descriptor)
    }

    deinit { close(descriptor.withLock { $0 }) }

    /// Lets go of the lock, before the file itself is.
    func release() { descriptor.withLock { _ = flock($0, LOCK_UN) } }

    /// Whether no other process has the file open at this moment; others who come at just this moment wait.
    var isAlone: Bool {
        let isAlone = takeAlone()
        // A lock that can't be raised is lost, and has to be taken again in either case.
        descriptor.withLock { _ = flock($0, LOCK_SH) }
        return isAlone
    }

    /// Takes the lock for this one alone, if no other has it.
    func takeAlone() -> Bool { descriptor.withLock { flock($0, LOCK_EX | LOCK_NB) } == 0 }

    /// Takes the lock together with others; waits for one who has it alone, but not for ever.
    func takeTogether(within seconds: Double) -> Bool {
        for _ in 0...Int(max(0, min(seconds, 3_600)) * 100) {
            if descriptor.withLock({ flock($0, LOCK_SH | LOCK_NB) }) == 0 { return true }
            usleep(10_000)
        }
        return false
    }

    /// Goes on with another's file and lock, which gets this one's in its place.
    func exchange(with other: FileLock) {
        let theirs = other.descriptor.withLock { $0 }
        let ours = descriptor.withLock { ours in
            defer { ours = theirs }
            return ours
        }
        other.descriptor.withLock { $0 = ours }
        written.withLock { $0 = AccountsCopy() }
    }

    // MARK: The copy of the accounts

    /// The copy that is there, if it is whole.
    func accounts() -> AccountsCopy? {
        var bytes = [UInt8](repeating: 0, count: Self.mostBytes)
        let count = descriptor.withLock { pread($0, &bytes, bytes.count, 0) }
        return count > 0 ? AccountsCopy(Array(bytes.prefix(count))) : nil
    }

    /// Writes a copy over the one that is there, if it says something else.
    func write(_ copy: AccountsCopy) {
        written.withLock { written in
            if written == copy { return }
            let bytes = copy.bytes
            let isWritten = bytes.count <= Self.mostBytes && overwrite(bytes)
            // Rather none than one that is wrong.
            if !isWritten { truncate() }
            written = copy
        }
    }

    /// Removes the copy: it is of another file.
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
