/// Parses server-sent events from chunks of any size; pure.
///
/// Lines end with CR, LF or CRLF. Skips events over 64 KB, comments and unknown fields.
struct OFREPEventReader: Sendable {
    /// One event.
    struct Message: Sendable, Hashable {
        /// The `data` lines.
        var data: [UInt8]
        /// The last event id of the stream, for `Last-Event-ID`.
        var id: String?
    }

    private static let longest = 64 << 10

    private var line: [UInt8] = []
    private var isTooLong = false
    private var data: [UInt8]?
    private var id: String?
    private var isAfterCR = false
    private var isFirstLine = true

    /// Creates a reader for a connection.
    ///
    /// - Parameter id: The last event id of the stream's previous connection, which is valid until an event names
    ///   another.
    init(after id: String? = nil) { self.id = id }

    /// Parses the next bytes.
    ///
    /// - Returns: The events that these bytes complete.
    mutating func take(_ bytes: [UInt8]) -> [Message] {
        var messages: [Message] = []
        for byte in bytes {
            if byte == 0x0A, isAfterCR {
                isAfterCR = false
                continue
            }
            isAfterCR = byte == 0x0D
            if byte == 0x0D || byte == 0x0A {
                if let message = endLine() { messages.append(message) }
            } else if line.count < Self.longest {
                line.append(byte)
            } else {
                isTooLong = true
            }
        }
        return messages
    }

    private mutating func endLine() -> Message? {
        defer {
            line.removeAll(keepingCapacity: true)
            isFirstLine = false
        }
        if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        guard line.isEmpty else {
            takeField()
            return nil
        }
        defer { (data, isTooLong) = (nil, false) }
        guard let data, !isTooLong else { return nil }
        return Message(data: data, id: id)
    }

    private mutating func takeField() {
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        var value = colon.map { line[($0 + 1)...] } ?? []
        if value.first == 0x20 { value = value.dropFirst() }
        switch String(decoding: line[..<(colon ?? line.endIndex)], as: UTF8.self) {
        case "data":
            let count = data.map { $0.count + 1 } ?? 0
            guard count + value.count <= Self.longest else { return isTooLong = true }
            // Appended in place: an event may have tens of thousands of lines.
            if data == nil { data = [] } else { data?.append(0x0A) }
            data?.append(contentsOf: value)
        case "id" where !value.contains(0) && value.count <= 1_024:
            id = String(decoding: value, as: UTF8.self)
        default:
            break
        }
    }
}
