import Foundation
import Testing

@testable import EngageAdapter

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite("Envelopes and hostile values")
struct EnvelopeInjectionTests {
    private static let pieces = [
        "a", "é", "e\u{301}", "😀", "&", "&amp;", "&#65;", "<", "</VALUE>", "<!--", "-->", "<![CDATA[", "]]>", "]]", "]",
        ">", "\"", "'", "?>", "%", " ", "\t", "\n", "\r", "\r\n", "\0", "\u{1}", "\u{b}", "\u{1b}", "\u{7f}\u{85}",
        "\u{2028}", "\u{202e}", "\u{fffd}", "\u{fffe}", "\u{ffff}", "\u{10ffff}", "\u{feff}",
    ]

    /// Every piece alone, and 2,000 combinations, the same in each run.
    private static let texts: [String] = {
        var state: UInt64 = 53
        func next(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        return pieces
            + (0..<2_000).map { _ in
                (0...next(below: 7)).map { _ in pieces[next(below: pieces.count)] }.joined()
            }
    }()

    /// The text without the characters that XML 1.0 can't represent.
    private static func representable(_ text: String) -> [UInt8] {
        var scalars = String.UnicodeScalarView()
        scalars.append(
            contentsOf: text.unicodeScalars.filter {
                [9, 10, 13].contains($0.value) || $0.value >= 0x20 && ![0xFFFE, 0xFFFF].contains($0.value)
            }
        )
        return Array(String(scalars).utf8)
    }

    @Test("P53 another parser reads each value unchanged, without the characters that XML can't represent")
    func unchanged() throws {
        for text in Self.texts {
            let call = XMLAPI(
                "A",
                ["P": text],
                columns: [text: text],
                syncFields: [text: text],
                rows: [[text: text]]
            )
            let seen = try #require(Elements.read(try call.envelope()), "\(text.debugDescription)")
            let value = Self.representable(text)
            #expect(
                seen == [
                    .init("P", value), .init("NAME", value), .init("VALUE", value),
                    .init("COLUMN", value, name: value), .init("NAME", value), .init("VALUE", value),
                ],
                "\(text.debugDescription)"
            )
        }
    }
}

/// The innermost elements of a document, as Foundation reads them.
private final class Elements: NSObject, XMLParserDelegate {
    struct Element: Equatable {
        var element: String
        var text: [UInt8]
        var name: [UInt8]?

        init(_ element: String, _ text: [UInt8], name: [UInt8]? = nil) {
            self.element = element
            self.text = text
            self.name = name
        }
    }

    private var found: [Element] = []
    private var open: Element?

    /// Reads a document; `nil` if it isn't well-formed.
    static func read(_ document: String) -> [Element]? {
        let reader = Elements()
        let parser = XMLParser(data: Data(document.utf8))
        parser.delegate = reader
        return parser.parse() && parser.parserError == nil ? reader.found : nil
    }

    func parser(
        _ parser: XMLParser,
        didStartElement name: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        open = Element(name, [], name: attributes["name"].map { Array($0.utf8) })
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { open?.text += Array(string.utf8) }

    func parser(_ parser: XMLParser, foundCDATA block: Data) { open?.text += Array(block) }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        if let open { found.append(open) }
        open = nil
    }
}
