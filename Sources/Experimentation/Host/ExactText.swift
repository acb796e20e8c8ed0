import Foundation

/// A string that equals another only if every byte does.
///
/// Swift compares strings by Unicode's canonical equivalence, however they are composed. User ids are compared byte by
/// byte: what is stored for `é` must not be returned for `e` with a combining accent.
package struct ExactText: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (one: Self, other: Self) -> Bool {
        var (text, otherText) = (one.text, other.text)
        // One comparison of memory: two sequences would be compared byte by byte, slowly where nothing is specialized.
        return text.withUTF8 { bytes in
            otherText.withUTF8 { otherBytes in
                guard bytes.count == otherBytes.count else { return false }
                guard let start = bytes.baseAddress, let otherStart = otherBytes.baseAddress else { return true }
                return memcmp(start, otherStart, bytes.count) == 0
            }
        }
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xff as UInt8)
    }
}
