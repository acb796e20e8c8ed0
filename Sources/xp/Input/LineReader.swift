import Dispatch
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The lines of a file or of standard input, one after another and never more than a few in memory.
actor LineReader {
    /// How many bytes a line may have; a longer one comes as `nil` bytes.
    static let longest = 4 << 20

    /// One line.
    struct Line: Sendable {
        /// Counts up from 1.
        var number: Int
        /// The bytes without the line break; `nil` for a line that is too long.
        var bytes: [UInt8]?
    }

    private let descriptor: Int32
    private let isOwned: Bool
    private let name: String
    /// Whether the next line is not in memory yet.
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

    /// The next line that isn't blank; `nil` at the end.
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
            // A mark of the byte order belongs to no line.
            if number == 1, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
            // Blank is what people mean by it; other control characters are a line that isn't JSON.
            if !line.allSatisfy({ $0 == 0x20 || (0x09...0x0D).contains($0) }) {
                return Line(number: number, bytes: line)
            }
        }
    }

    /// Reads off the cooperative threads: a pipe may have nothing for hours.
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
