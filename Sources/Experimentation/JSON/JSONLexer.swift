import Foundation

/// Reads JSON's tokens one by one, strictly by RFC 8259.
///
/// It knows nothing of their meaning. The bytes belong to the caller and must outlive it.
package struct JSONLexer {
    /// Accessed only after ``position`` was checked against its count.
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    package init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// The current byte; 0 at the end, which begins no token.
    package var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    package var isAtEnd: Bool { position == bytes.count }

    /// The number of bytes before the current one.
    package var place: Int { position }

    /// Advances by one byte, unless at the end.
    package mutating func skip() { if position < bytes.count { position += 1 } }

    package mutating func skipByteOrderMark() {
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { position = 3 }
    }

    package mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0a, 0x0d, 0x09: position += 1
            default: return
            }
        }
    }

    /// Consumes this byte and the white space after it, if it is next.
    package mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        skipSpace()
        return true
    }

    /// Consumes exactly these bytes, if they are next.
    @inline(__always)
    package mutating func take(exactly text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard let start = bytes.baseAddress, bytes.count - position >= length,
            memcmp(start + position, text.utf8Start, length) == 0
        else { return false }
        position += length
        return true
    }

    /// Returns a fault at the current position.
    package func fault(_ reason: String) -> JSONFault {
        let read = bytes[..<min(position, bytes.count)]
        return JSONFault(
            reason: position >= bytes.count ? "the document ends too early; \(reason)" : reason,
            line: read.count { $0 == 0x0a } + 1,
            column: read.count - (read.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0) + 1
        )
    }
}

/// Why a text isn't JSON, and where; without the text itself, which may be personal.
package struct JSONFault: Error, Equatable {
    /// What was expected, or which limit was exceeded.
    package let reason: String
    /// Counted from 1.
    package let line: Int
    /// Counted from 1, in bytes.
    package let column: Int

    package var message: String { "line \(line), column \(column): \(reason)" }
}
