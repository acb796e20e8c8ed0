import Foundation

/// Reads JSON's tokens, one after the other, as RFC 8259 has them and no other way.
///
/// It knows nothing of what the tokens are about. The bytes stay the caller's and must outlive it.
package struct JSONLexer {
    /// Read only where ``position`` was compared with its count.
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    package init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// The byte here; 0 at the end, which begins no token.
    package var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    package var isAtEnd: Bool { position == bytes.count }

    /// How many bytes come before this one.
    package var place: Int { position }

    /// Goes on by one byte, unless the text is at its end.
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

    /// Takes this byte and the space after it, if it is here.
    package mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        skipSpace()
        return true
    }

    /// Takes these bytes and none after them, if they are here.
    @inline(__always)
    package mutating func take(exactly text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard let start = bytes.baseAddress, bytes.count - position >= length,
            memcmp(start + position, text.utf8Start, length) == 0
        else { return false }
        position += length
        return true
    }

    /// Says what is wrong here.
    package func fault(_ reason: String) -> JSONFault {
        let read = bytes[..<min(position, bytes.count)]
        return JSONFault(
            reason: position >= bytes.count ? "the document ends too early; \(reason)" : reason,
            line: read.count { $0 == 0x0a } + 1,
            column: read.count - (read.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0) + 1
        )
    }
}

/// Why a text isn't JSON, and where; never the text itself, which may be personal.
package struct JSONFault: Error, Equatable {
    /// What was expected, or what there is too much of.
    package let reason: String
    /// Counted from 1.
    package let line: Int
    /// Counted from 1, in bytes.
    package let column: Int

    package var message: String { "line \(line), column \(column): \(reason)" }
}
