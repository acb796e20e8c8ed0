import HTTPTypes

/// Collects the head of a response line by line, within limits.
///
/// Lines are only scanned as they arrive; ``fields`` parses them where they are needed, which takes longer.
struct ResponseHead: Sendable {
    private static let mostBytes = 128 << 10
    private static let mostFields = 200

    /// The lines of the fields, each with its end.
    private var lines: [UInt8] = []
    private var bytes = 0
    private var count = 0
    private var length: [UInt8]?

    /// Whether the blank line after the fields has arrived; without it a broken connection would look like an empty
    /// answer.
    private(set) var isComplete = false

    /// Why the head is refused, if it is.
    private(set) var objection: String?

    /// Takes one line including its end; returns `false` to stop reading the response.
    mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
        bytes += line.count
        guard bytes <= Self.mostBytes else { return refuse("the response's head is too large") }
        if line.starts(with: "HTTP/".utf8) {
            // A status line begins another head: that of the final response after an interim one.
            lines.removeAll(keepingCapacity: true)
            count = 0
            length = nil
            isComplete = false
            return true
        }
        // Fields that follow a chunked body aren't the head's: RFC 9110, 6.5.1.
        guard !isComplete else { return true }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { isComplete = true }
            return true
        }
        guard count < Self.mostFields else { return refuse("the response has too many fields") }
        count += 1
        if line[..<colon].isName("content-length"), !note(length: line[(colon + 1)...].trimmed) {
            return refuse("the response's length can't be believed")
        }
        lines.append(contentsOf: line)
        return true
    }

    /// The fields, adjusted to a body that has been decompressed.
    var fields: HTTPFields {
        var fields = HTTPFields()
        var isEncoded = false
        lines.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
                let end = rest[colon...].firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
                defer { rest = rest[end...].dropFirst() }
                // A field with an invalid name could never be looked up.
                guard let name = HTTPField.Name(String(decoding: rest[..<colon], as: UTF8.self)) else { continue }
                if name == .contentEncoding { isEncoded = true }
                fields.append(HTTPField(name: name, value: rest[(colon + 1)..<end].trimmed))
            }
        }
        if isEncoded {
            fields[.contentEncoding] = nil
            fields[.contentLength] = nil
        }
        return fields
    }

    /// Whether a length is a number, and equal to any other in the head.
    private mutating func note(length text: Slice<UnsafeRawBufferPointer>) -> Bool {
        let isNumber = !text.isEmpty && text.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, Int(String(decoding: text, as: UTF8.self)) != nil else { return false }
        if let length { return length.elementsEqual(text) }
        length = Array(text)
        return true
    }

    private mutating func refuse(_ reason: String) -> Bool {
        objection = reason
        return false
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// The bytes without spaces and control characters at both ends.
    fileprivate var trimmed: Self {
        var trimmed = self
        while let last = trimmed.last, last <= 0x20 { trimmed = trimmed.dropLast() }
        while let first = trimmed.first, first <= 0x20 { trimmed = trimmed.dropFirst() }
        return trimmed
    }

    /// Whether these bytes are a field's name, given in lower case, whatever their own case.
    fileprivate func isName(_ name: StaticString) -> Bool {
        guard count == name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { name in
            zip(self, name).allSatisfy { byte, wanted in
                byte == wanted || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) && byte | 0x20 == wanted
            }
        }
    }
}
