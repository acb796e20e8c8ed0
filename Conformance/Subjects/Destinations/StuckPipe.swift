import Foundation

/// A full pipe without a reader: a write to it blocks.
enum StuckPipe {
    /// Makes and fills a pipe.
    ///
    /// - Returns: Its two ends, to be closed.
    static func open(_ path: String) throws -> [Int32] {
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        let reading = Foundation.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let writing = Foundation.open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard reading >= 0, writing >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        let zeros = [UInt8](repeating: 0, count: 4_096)
        while write(writing, zeros, zeros.count) > 0 {}
        return [reading, writing]
    }

    /// Closes an end.
    static func close(_ end: Int32) { _ = Foundation.close(end) }
}
