import Foundation

/// Writes JSON's tokens one by one, without white space or needless escapes.
package struct JSONWriter {
    /// How to write values that JSON allows in more than one way.
    package enum Form: Sendable {
        /// As `JSONEncoder` writes them with sorted names, byte for byte: an integral `Double` as `100`.
        case asEncoder
        /// So that a number reads back with its type: an integral `Double` as `100.0`.
        case exact
    }

    /// Why a value can't be written.
    package enum Refusal: Error, Equatable {
        /// A number is infinite or not a number.
        case notFinite
        /// A value is nested deeper than this in lists and objects.
        case tooDeep(Int)

        /// The reason, for a person.
        package var message: String {
            switch self {
            case .notFinite: "a number that is infinite or none can't be written"
            case .tooDeep(let deepest): "a value is nested in more than \(deepest) levels"
            }
        }
    }

    let form: Form
    let leading: [String]
    let deepest: Int

    /// The bytes written so far.
    package internal(set) var bytes: [UInt8] = []

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - form: How to write values that have several forms.
    ///   - leading: Names that come first in every object, in this order; the others are sorted by their bytes.
    ///   - deepest: The maximum depth of lists and objects around a scalar.
    ///   - capacity: The expected size in bytes.
    package init(
        _ form: Form,
        leading: [String] = [],
        deepest: Int = FlagValue.deepestWritten,
        capacity: Int = 0
    ) {
        self.form = form
        self.leading = leading
        self.deepest = deepest
        bytes.reserveCapacity(capacity)
    }

    /// Writes JSON text unchanged.
    package mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    /// Writes JSON from another writer.
    package mutating func raw(_ written: [UInt8]) { bytes += written }

    /// Writes an integer.
    package mutating func number(_ number: Int) { bytes += number.description.utf8 }

    /// Writes a number with the fewest digits that read back as the same number.
    package mutating func number(_ number: Double) throws(Refusal) {
        guard number.isFinite else { throw .notFinite }
        bytes += number.description.utf8
        guard form == .asEncoder, bytes.count > 2 else { return }
        if bytes[bytes.count - 1] == UInt8(ascii: "0"), bytes[bytes.count - 2] == UInt8(ascii: ".") {
            bytes.removeLast(2)
        }
    }

    /// Writes a string in quotes.
    package mutating func text(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { own in
            // Most strings need no escapes, and are appended at once. The loop is quick without optimization too.
            var place = 0
            while place < own.count, !Self.isEscaped(own[place]) { place &+= 1 }
            if place == own.count { bytes.append(contentsOf: own) } else { for byte in own { escape(byte) } }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        guard Self.isEscaped(byte) else { return bytes.append(byte) }
        switch byte {
        case 0x08: raw(#"\b"#)
        case 0x09: raw(#"\t"#)
        case 0x0a: raw(#"\n"#)
        case 0x0c: raw(#"\f"#)
        case 0x0d: raw(#"\r"#)
        case 0..<0x20:
            raw(byte < 0x10 ? #"\u000"# : #"\u001"#)
            let digit = byte & 0x0f
            bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        default:
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        }
    }

    /// Foundation's encoder, for types that only it can take apart: sorted names, unescaped slashes.
    package static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
