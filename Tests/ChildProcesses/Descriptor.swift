import Foundation

/// One end of a pipe, closed with its last use.
final class Descriptor: Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { close(number) }

    /// What is there, waiting until something is; nothing at the end.
    func read() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Foundation.read(number, &bytes, bytes.count)
            if count < 0 && errno == EINTR { continue }
            return Array(bytes.prefix(max(0, count)))
        }
    }

    /// Writes all of it, or what the reader takes.
    func write(_ bytes: [UInt8]) {
        // A reader that ends early is no reason for the writer to end.
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

/// Two ends of a pipe.
struct Pipe {
    let reading: Descriptor
    let writing: Descriptor

    init() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        // A child that is started elsewhere mustn't keep an end open: the reader would wait for that child's end.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (reading, writing) = (Descriptor(ends[0]), Descriptor(ends[1]))
    }
}
