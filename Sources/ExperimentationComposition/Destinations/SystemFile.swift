import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The system's file calls, under names that don't clash with methods.
enum SystemFile {
    /// Opens a file for reading and appending, creating it for its owner only; returns -1 on failure.
    static func opened(_ path: String) -> Int32 {
        open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0o600)
    }
    /// Opens a device or a pipe for writing without waiting for a reader; returns -1 on failure.
    static func openedStream(_ path: String) -> Int32 {
        open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    }
    /// Closes a file.
    static func closed(_ descriptor: Int32) { _ = close(descriptor) }
    /// Writes from an index on; returns the number of bytes, or -1.
    ///
    /// A pipe without a reader is an error, without SIGPIPE.
    static func written(_ bytes: [UInt8], from start: Int, to descriptor: Int32) -> Int {
        bytes.withUnsafeBytes { all in
            withoutPipeSignal(descriptor) { write(descriptor, all.baseAddress.map { $0 + start }, all.count - start) }
        }
    }
    /// Waits until more can be written, up to a limit in milliseconds; returns whether it can.
    static func takesMore(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&asked, 1, milliseconds) > 0
    }
    /// Reads bytes at an offset; `nil` if they can't all be read.
    static func read(_ count: Int, at place: Int, of descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: count)
        return pread(descriptor, &buffer, count, off_t(place)) == count ? buffer : nil
    }
    /// Truncates a file; returns whether it succeeded.
    static func cut(_ descriptor: Int32, to size: Int) -> Bool { ftruncate(descriptor, off_t(size)) == 0 }
    /// Syncs a file to disk; returns whether it succeeded.
    static func synced(_ descriptor: Int32) -> Bool { fsync(descriptor) == 0 }
    /// Renames a file; returns whether it succeeded.
    static func renamed(_ path: String, to name: String) -> Bool { rename(path, name) == 0 }
    /// Whether something exists at a path.
    static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }
    /// Returns the size of an open file; `nil` if unknown.
    static func size(_ descriptor: Int32) -> Int? {
        var found = stat()
        return fstat(descriptor, &found) == 0 ? Int(found.st_size) : nil
    }
    /// Whether an open file is a regular file.
    static func isRegular(_ descriptor: Int32) -> Bool {
        var found = stat()
        return fstat(descriptor, &found) == 0 && found.st_mode & S_IFMT == S_IFREG
    }
    /// Whether a path leads to something other than a regular file or a folder, links followed.
    static func isSpecial(_ path: String) -> Bool {
        var found = stat()
        guard stat(path, &found) == 0 else { return false }
        return found.st_mode & S_IFMT != S_IFREG && found.st_mode & S_IFMT != S_IFDIR
    }
    /// Returns the path with all links resolved; `nil` if nothing is there.
    static func resolved(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }
    /// Returns a link's target; `nil` if it isn't a link.
    static func link(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }
    /// Whether a path leads to an open file.
    static func leads(_ path: String, to descriptor: Int32) -> Bool {
        var one = stat()
        var other = stat()
        return fstat(descriptor, &one) == 0 && stat(path, &other) == 0 && one.st_ino == other.st_ino
            && one.st_dev == other.st_dev
    }
    /// The error code of the last failed call.
    static var failure: Int32 { errno }

    #if canImport(Darwin)
        private static func withoutPipeSignal(_ descriptor: Int32, _ work: () -> Int) -> Int {
            _ = fcntl(descriptor, F_SETNOSIGPIPE, 1)
            return work()
        }
    #else
        /// Suppresses SIGPIPE: blocks it on this thread, and discards it if this call raised it.
        private static func withoutPipeSignal(_ descriptor: Int32, _ work: () -> Int) -> Int {
            var (signal, before, pending) = (sigset_t(), sigset_t(), sigset_t())
            sigemptyset(&signal)
            sigaddset(&signal, SIGPIPE)
            sigpending(&pending)
            pthread_sigmask(SIG_BLOCK, &signal, &before)
            let count = work()
            let code = errno
            if count < 0, code == EPIPE, sigismember(&pending, SIGPIPE) == 0 {
                var now = timespec()
                _ = sigtimedwait(&signal, nil, &now)
            }
            pthread_sigmask(SIG_SETMASK, &before, nil)
            errno = code
            return count
        }
    #endif
}
