import Foundation
import Waiting

/// A pipe with a name, whose other end stays open until it is let go of.
final class OpenPipe {
    let path: String
    private var handle: FileHandle?

    init(in folder: URL) throws {
        path = folder.appending(path: "pipe").path
        // A reader that has ended is no reason for the tests to end.
        signal(SIGPIPE, SIG_IGN)
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    /// Writes lines and keeps the pipe open, once somebody reads.
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

    /// Waits until everything that was written has been read.
    func untilItIsEmpty() async throws {
        try await eventually("a reader of the pipe") {
            guard let handle else { return true }
            var count: Int32 = 0
            // How many bytes nobody has read yet.
            return ioctl(handle.fileDescriptor, UInt(FIONREAD), &count) == 0 && count == 0
        }
    }

    /// Waits until its reader has something in its hands and doesn't read on.
    func untilItIsLeftAlone() async throws {
        try await untilItIsEmpty()
        try add(["{}"])
        var quiet = 0
        for _ in 0..<1_000 where quiet < 25 {
            try await pause(.milliseconds(20))
            guard let handle else { return }
            var count: Int32 = 0
            guard ioctl(handle.fileDescriptor, UInt(FIONREAD), &count) == 0, count > 0 else {
                // It was read with what came before.
                quiet = 0
                try add(["{}"])
                continue
            }
            quiet += 1
        }
    }

    deinit { try? handle?.close() }
}
