import Foundation

/// One end of a pipe, closed when it is released.
final class Descriptor: Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { close(number) }

    /// Waits for bytes and returns them; empty at the end.
    func read() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Foundation.read(number, &bytes, bytes.count)
            if count < 0 && errno == EINTR { continue }
            return Array(bytes.prefix(max(0, count)))
        }
    }

    /// Writes all bytes, or as many as the reader takes.
    func write(_ bytes: [UInt8]) {
        // A reader that ends early must not kill the writer.
        _ = signal(SIGPIPE, SIG_IGN)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(number, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// The two ends of a pipe.
struct Pipe {
    let reading: Descriptor
    let writing: Descriptor

    init() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        // Not inherited by other children, whose copy would keep the pipe open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (reading, writing) = (Descriptor(ends[0]), Descriptor(ends[1]))
    }
}
