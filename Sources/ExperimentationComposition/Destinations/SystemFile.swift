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
    static func opened(_ path: String) -> Int32 {
        open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0o600)
    }
    /// Opens a device or a pipe to be written into, without waiting for anybody who reads; -1 if it can't be.
    static func openedStream(_ path: String) -> Int32 {
        open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    }
    /// Closes a file.
    static func closed(_ descriptor: Int32) { _ = close(descriptor) }
    /// Writes from a place on; how many bytes were, or -1.
    ///
    /// A pipe that nobody reads is an error and no signal.
    static func written(_ bytes: [UInt8], from start: Int, to descriptor: Int32) -> Int {
        bytes.withUnsafeBytes { all in
            withoutPipeSignal(descriptor) { write(descriptor, all.baseAddress.map { $0 + start }, all.count - start) }
        }
    }
    /// Whether more can be written after at most so many milliseconds.
    static func takesMore(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        var asked = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&asked, 1, milliseconds) > 0
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
    /// Whether an open file is a plain one: no device, no pipe.
    static func isRegular(_ descriptor: Int32) -> Bool {
        var found = stat()
        return fstat(descriptor, &found) == 0 && found.st_mode & S_IFMT == S_IFREG
    }
    /// Whether something other than a plain file or a folder lies at a path, behind links.
    static func isSpecial(_ path: String) -> Bool {
        var found = stat()
        guard stat(path, &found) == 0 else { return false }
        return found.st_mode & S_IFMT != S_IFREG && found.st_mode & S_IFMT != S_IFDIR
    }
    /// Where a path leads, behind all links; `nil` if to nothing.
    static func resolved(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }
    /// What a link says; `nil` if there is no link.
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
    /// Why the last call failed.
    static var failure: Int32 { errno }

    #if canImport(Darwin)
        private static func withoutPipeSignal(_ descriptor: Int32, _ work: () -> Int) -> Int {
            _ = fcntl(descriptor, F_SETNOSIGPIPE, 1)
            return work()
        }
    #else
        /// Keeps the signal of a broken pipe from the process: it is held back on this thread, and taken away if this call
        /// has raised it.
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
