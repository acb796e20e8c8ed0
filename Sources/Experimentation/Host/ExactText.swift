/// A text that is equal to another only if every byte is.
///
/// Swift's texts are equal when Unicode calls them so, however they are composed. Users are who their ids say, byte by byte: what
/// is kept of `é` must not be given to `e` with an accent after it.
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
