import HTTPTypes

/// Collects the head of a response line by line, within limits.
struct ResponseHead {
    private static let mostBytes = 128 << 10
    private static let mostFields = 200

    private var fields = HTTPFields()
    private var bytes = 0
    private var length: String?
    private var isEncoded = false

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
            fields = HTTPFields()
            length = nil
            isEncoded = false
            isComplete = false
            return true
        }
        // Fields that follow a chunked body aren't the head's: RFC 9110, 6.5.1.
        guard !isComplete else { return true }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { isComplete = true }
            return true
        }
        guard fields.count < Self.mostFields else { return refuse("the response has too many fields") }
        // A field with an invalid name could never be looked up.
        guard let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self)) else { return true }
        var value = line[(colon + 1)...]
        while let last = value.last, last <= 0x20 { value = value.dropLast() }
        while let first = value.first, first <= 0x20 { value = value.dropFirst() }
        let field = HTTPField(name: name, value: value)
        if name == .contentLength, !note(length: field.value) {
            return refuse("the response's length can't be believed")
        }
        if name == .contentEncoding { isEncoded = true }
        fields.append(field)
        return true
    }

    /// The fields, adjusted to a body that has been decompressed.
    var decodedFields: HTTPFields {
        guard isEncoded else { return fields }
        var decoded = fields
        decoded[.contentEncoding] = nil
        decoded[.contentLength] = nil
        return decoded
    }

    /// Whether a length is a number, and equal to any other in the head.
    private mutating func note(length text: String) -> Bool {
        let isNumber = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, Int(text) != nil, length == nil || length == text else { return false }
        length = text
        return true
    }

    private mutating func refuse(_ reason: String) -> Bool {
        objection = reason
        return false
    }
}
