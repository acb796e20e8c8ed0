/// Writes XML: elements, attributes, texts and CDATA sections, in UTF-8 without a declaration or white space of its own.
///
/// Values are escaped so that a reader gets them back as they are. Carriage returns are written as references, because
/// XML readers turn bare ones into line feeds; characters that XML 1.0 can't represent are left out. Names can't be
/// escaped: check one from outside with ``isName(_:)``.
package struct XMLWriter {
    private var bytes: [UInt8] = []

    package init() {}

    /// The document so far.
    package var document: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether a text can be the name of an element or attribute; only ASCII names without a prefix can.
    package static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.enumerated().allSatisfy { place, scalar in
                switch scalar {
                case "A"..."Z", "a"..."z", "_": true
                case "0"..."9", "-", ".": place > 0
                default: false
                }
            }
    }

    /// Writes an element.
    package mutating func element(
        _ name: String,
        attributes: [XMLTree.Attribute] = [],
        _ content: (inout XMLWriter) -> Void
    ) {
        write("<\(name)")
        for attribute in attributes {
            write(" \(attribute.name)=\"")
            escape(attribute.value, isAttribute: true)
            write("\"")
        }
        write(">")
        content(&self)
        write("</\(name)>")
    }

    /// Writes an element with a text.
    package mutating func element(_ name: String, _ text: String) {
        element(name) { $0.escape(text) }
    }

    /// Writes a text as a CDATA section, which is interrupted where the text would end it.
    package mutating func section(_ text: String) {
        var brackets = 0
        write("<![CDATA[")
        append(text) { byte, bytes in
            switch byte {
            case UInt8(ascii: ">") where brackets >= 2: bytes.append(contentsOf: "]]><![CDATA[>".utf8)
            case 0x0D: bytes.append(contentsOf: "]]>&#13;<![CDATA[".utf8)
            case 0x09, 0x0A, 0x20...: bytes.append(byte)
            // Omitted characters separate nothing: the brackets before them still count.
            default: return
            }
            brackets = byte == UInt8(ascii: "]") ? brackets + 1 : 0
        }
        write("]]>")
    }

    private mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Writes a string between two tags or, in an attribute, quotes, where a reader would turn bare line breaks and tabs
    /// into spaces.
    private mutating func escape(_ text: String, isAttribute: Bool = false) {
        append(text) { byte, bytes in
            switch byte {
            case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
            case 0x0D: bytes.append(contentsOf: "&#13;".utf8)
            case UInt8(ascii: "\"") where isAttribute: bytes.append(contentsOf: "&quot;".utf8)
            case 0x09 where isAttribute: bytes.append(contentsOf: "&#9;".utf8)
            case 0x0A where isAttribute: bytes.append(contentsOf: "&#10;".utf8)
            case 0x09, 0x0A, 0x20...: bytes.append(byte)
            default: break
            }
        }
    }

    /// Visits the bytes of a string, without U+FFFE and U+FFFF, which XML can't represent.
    ///
    /// They are `EF BF BE` and `EF BF BF`; nothing else begins and ends like them.
    private mutating func append(_ text: String, _ each: (UInt8, inout [UInt8]) -> Void) {
        var text = text
        text.withUTF8 { utf8 in
            var index = 0
            while index < utf8.count {
                let byte = utf8[index]
                if byte == 0xEF, index + 2 < utf8.count, utf8[index + 1] == 0xBF, utf8[index + 2] >= 0xBE {
                    index += 3
                    continue
                }
                each(byte, &bytes)
                index += 1
            }
        }
    }
}
