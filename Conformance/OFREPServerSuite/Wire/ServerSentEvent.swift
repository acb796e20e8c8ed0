/// A server-sent event.
struct ServerSentEvent: Sendable, Equatable {
    var name: String?
    var data: String?

    /// Parses the complete events at the beginning of a stream.
    static func read(_ bytes: [UInt8]) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        var event = ServerSentEvent()
        let lines = String(decoding: withLineFeeds(bytes), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        // No line feed has ended the last line.
        for line in lines.dropLast() {
            if line.isEmpty {
                events.append(event)
                event = ServerSentEvent()
                continue
            }
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            var value = line[colon...].dropFirst()
            if value.first == " " { value.removeFirst() }
            switch line[..<colon] {
            case "event": event.name = String(value)
            case "data": event.data = (event.data.map { $0 + "\n" } ?? "") + value
            default: break
            }
        }
        return events
    }

    /// The bytes with a line feed in place of each of the three ends that a line may have.
    private static func withLineFeeds(_ bytes: [UInt8]) -> [UInt8] {
        var lines: [UInt8] = []
        var isAfterReturn = false
        // A stream may begin with a byte order mark.
        for byte in bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...] {
            if byte != 10 || !isAfterReturn { lines.append(byte == 13 ? 10 : byte) }
            isAfterReturn = byte == 13
        }
        return lines
    }
}
