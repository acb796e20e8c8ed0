/// A string that equals another only if every byte does.
///
/// Swift compares strings by Unicode's canonical equivalence, however they are composed. User ids are compared byte by
/// byte: what is stored for `é` must not be returned for `e` with a combining accent.
package struct ExactText: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (one: Self, other: Self) -> Bool { one.text.utf8.elementsEqual(other.text.utf8) }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xff as UInt8)
    }
}
