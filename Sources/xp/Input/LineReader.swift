import Dispatch
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Reads the lines of a file or of standard input one by one, in bounded memory.
actor LineReader {
    /// The maximum length of a line in bytes; longer ones have `nil` bytes.
    static let longest = 4 << 20

    /// One line.
    struct Line: Sendable {
        /// The line's number, from 1.
        var number: Int
        /// The bytes without the line break; `nil` if the line is too long.
        var bytes: [UInt8]?
    }

    private let descriptor: Int32
    private let isOwned: Bool
    /// The file's path, or what standard input is called.
    nonisolated let name: String
    /// Whether reading the next line may block.
    var wouldWait: Bool { buffer[position...].firstIndex(of: 0x0A) == nil && !isAtEnd }

    private let queue = DispatchQueue(label: "xp.lines")
    private var buffer: [UInt8] = []
    private var position = 0
    private var number = 0
    private var isAtEnd = false

    /// Opens a file, or standard input for `-`.
    init(_ path: String) throws {
        guard path != "-" else {
            descriptor = STDIN_FILENO
            isOwned = false
            name = "standard input"
            return
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw InputFile.missing(path)
        }
        guard !isFolder.boolValue else { throw Failure(.input, "\(path): expected a file, found a folder") }
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(.input, "\(path): can't be read") }
        isOwned = true
        name = path
    }

    deinit { if isOwned { close(descriptor) } }

    /// Returns the next line that isn't blank; `nil` at the end.
    func next() async throws -> Line? {
        while true {
            var line: [UInt8] = []
            var isTooLong = false
            var hasAny = false
            while true {
                if position == buffer.count {
                    if isAtEnd { break }
                    try await fill()
                    continue
                }
                hasAny = true
                let rest = buffer[position...]
                let end = rest.firstIndex(of: 0x0A)
                let part = rest[..<(end ?? buffer.count)]
                if line.count + part.count > Self.longest { isTooLong = true } else if !isTooLong { line += part }
                position = end.map { $0 + 1 } ?? buffer.count
                if end != nil { break }
            }
            guard hasAny else { return nil }
            number += 1
            if isTooLong { return Line(number: number, bytes: nil) }
            if line.last == 0x0D { line.removeLast() }
            // Skips a byte order mark.
            if number == 1, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
            // A line of other control characters isn't blank but invalid JSON.
            if !line.allSatisfy({ $0 == 0x20 || (0x09...0x0D).contains($0) }) {
                return Line(number: number, bytes: line)
            }
        }
    }

    /// Reads outside the cooperative thread pool: a pipe may stay silent for hours.
    private func fill() async throws {
        let descriptor = descriptor
        let result: (bytes: [UInt8], error: Int32) = await withCheckedContinuation { continuation in
            queue.async {
                var chunk = [UInt8](repeating: 0, count: 1 << 16)
                var count = -1
                repeat { count = read(descriptor, &chunk, chunk.count) } while count < 0 && errno == EINTR
                continuation.resume(returning: count < 0 ? ([], errno) : (Array(chunk[..<count]), 0))
            }
        }
        guard result.error == 0 else {
            throw Failure(.input, "\(name): can't be read any further: \(String(cString: strerror(result.error)))")
        }
        buffer = result.bytes
        position = 0
        isAtEnd = result.bytes.isEmpty
    }
}
