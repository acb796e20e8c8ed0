import Foundation
import Waiting

/// A named pipe whose writing end stays open until it is released.
final class OpenPipe {
    let path: String
    private var handle: FileHandle?

    init(in folder: URL) throws {
        path = folder.appending(path: "pipe").path
        // A reader that has ended must not kill the tests.
        signal(SIGPIPE, SIG_IGN)
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    /// Waits for a reader, writes lines and keeps the pipe open.
    func write(_ lines: [String]) async throws {
        let path = path
        handle = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let handle = FileHandle(forWritingAtPath: path)
                try? handle?.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
                continuation.resume(returning: handle)
            }
        }
    }

    /// Writes more lines.
    func add(_ lines: [String]) throws {
        try handle?.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// Waits until everything written has been read.
    func untilItIsEmpty() async throws {
        try await eventually("a reader of the pipe") {
            guard let handle else { return true }
            var count: Int32 = 0
            // The number of unread bytes.
            return ioctl(handle.fileDescriptor, UInt(FIONREAD), &count) == 0 && count == 0
        }
    }

    /// Waits until the reader has read something and doesn't read on.
    func untilItIsLeftAlone() async throws {
        try await untilItIsEmpty()
        try add(["{}"])
        var quiet = 0
        for _ in 0..<1_000 where quiet < 25 {
            try await pause(.milliseconds(20))
            guard let handle else { return }
            var count: Int32 = 0
            guard ioctl(handle.fileDescriptor, UInt(FIONREAD), &count) == 0, count > 0 else {
                // It was read together with the lines before it.
                quiet = 0
                try add(["{}"])
                continue
            }
            quiet += 1
        }
    }

    /// Ends what is read from the pipe.
    func close() {
        try? handle?.close()
        handle = nil
    }

    deinit { close() }
}
