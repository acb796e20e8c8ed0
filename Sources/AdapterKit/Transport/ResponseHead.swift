import HTTPTypes

/// The head of a response as its lines come in, within bounds.
struct ResponseHead {
    private static let mostBytes = 128 << 10
    private static let mostFields = 200

    private var fields = HTTPFields()
    private var bytes = 0

    /// Why the head is refused, if it is.
    private(set) var objection: String?

    /// Takes one line with its end; false if the response is not to be read on.
    mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
        bytes += line.count
        guard bytes <= Self.mostBytes else { return refuse("the response's head is too large") }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            // A status line begins another head: that of a final response after an interim one.
            if line.starts(with: "HTTP/".utf8) { fields = HTTPFields() }
            return true
        }
        if line.starts(with: "HTTP/".utf8) {
            fields = HTTPFields()
            return true
        }
        guard fields.count < Self.mostFields else { return refuse("the response has too many fields") }
        // What isn't a field's name can't be asked for by anybody either.
        guard let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self)) else { return true }
        var value = line[(colon + 1)...]
        while let last = value.last, last <= 0x20 { value = value.dropLast() }
        while let first = value.first, first <= 0x20 { value = value.dropFirst() }
        fields.append(HTTPField(name: name, value: value))
        return true
    }

    /// The fields as they fit a body that has been decompressed.
    var decodedFields: HTTPFields {
        guard fields[.contentEncoding] != nil else { return fields }
        var decoded = fields
        decoded[.contentEncoding] = nil
        decoded[.contentLength] = nil
        return decoded
    }

    private mutating func refuse(_ reason: String) -> Bool {
        objection = reason
        return false
    }
}
