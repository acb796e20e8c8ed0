import AdapterKit
import Experimentation
import Foundation
import Testing
import Waiting

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite("XML")
struct XMLTests {
    @Test("a document is read with its names, attributes, text and elements")
    func reads() throws {
        let text = """
            \u{feff}<?xml version="1.0" encoding="UTF-8"?>
            <!-- before --><?style x?>
            <soap:Envelope xmlns:soap="urn:x" a='1 "q" &lt;&#65;&#x1F600;'>
              <Body><RESULT><SUCCESS>TRUE</SUCCESS><Empty/><Empty></Empty>
                <NAME>a &amp; b<!-- c --> <![CDATA[<raw> & ]] >]]></NAME></RESULT></Body>
            </soap:Envelope>
            <!-- after -->
            """
        let root = try XMLReader.parse(text)
        #expect(root.name == "soap:Envelope")
        #expect(root.localName == "Envelope")
        #expect(root.attributes == [.init("xmlns:soap", "urn:x"), .init("a", "1 \"q\" <A😀")])
        #expect(root.at("Body", "RESULT", "SUCCESS")?.text == "TRUE")
        #expect(root.at("Body", "RESULT", "NAME")?.text == "a & b <raw> & ]] >")
        #expect(root.at("Body", "RESULT")?.all("Empty") == [XMLTree("Empty"), XMLTree("Empty")])
        #expect(root["Body"]?["RESULT"]?.children.count == 4)
        #expect(root.at("Body", "Missing", "X") == nil)
        #expect(root.trimmedText.isEmpty)
    }

    @Test("line ends are normalized to line feeds, character references aren't")
    func lineEnds() throws {
        let root = try XMLReader.parse("<a x='1\r\n2\t3'>1\r\n2\r3&#13;<![CDATA[\r\n]]></a>")
        #expect(root.text == "1\n2\n3\r\n")
        #expect(root.attribute("x") == "1 2 3")
    }

    static let refused: [String] = [
        "", " ", "\u{feff}", "<", "<a", "<a>", "<a><b></a>", "<a></b>", "<a></a", "</a>", "<a/><b/>", "<a></a><b></b>",
        "x", "<a/>x", "x<a/>",
        "<html><body><h1>502 Bad Gateway</h1><hr></body></html>", "<!DOCTYPE html><html></html>",
        "<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>",
        "<?xml version=\"1.0\"?><!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
        "<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/x.dtd\"><a/>",
        "<!DOCTYPE l [<!ENTITY a \"lol\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]><l>&c;</l>",
        "<a><!DOCTYPE b></a>", "<a><!ELEMENT b></a>", "<a>&e;</a>", "<a>&nbsp;</a>", "<a>&</a>", "<a>&amp</a>",
        "<a>&#0;</a>", "<a>&#xD800;</a>",
        "<a>&#x110000;</a>", "<a>&#99999999999;</a>", "<a>&#;</a>", "<a>&#x;</a>", "<a>&#+65;</a>", "<a>\u{1}</a>",
        "<a>\0</a>", "<a>\u{fffe}</a>",
        "<a b/>", "<a b=/>", "<a b=c/>", "<a b='1' b='2'/>", "<a b='1'c='2'/>", "<a b='<'/>", "<a b='1/>", "<1/>",
        "< a/>", "<a//>", "<-a/>",
        "<a>]]></a>", "<a><!-- -- --></a>", "<a><!-- ", "<a><![CDATA[x</a>", "<a><?pi", "<![CDATA[x]]>", "&amp;",
        "<a><?xml version='1.0'?></a>",
        "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a/>", "<?xml version=\"1.0\" encoding='UTF-16'?><a/>",
        " <?xml version=\"1.0\"?><a/>",
        "<a><b>", "<Envelope><Body><RESULT><SUCCESS>TRUE</SUCCESS></RESULT>", "<a b=\"&x;\"/>", "{\"success\":true}",
        "<é",
    ]

    @Test("P54 a document that isn't complete and plain XML is rejected", arguments: refused)
    func refuses(text: String) {
        let error = #expect(throws: ExperimentationError.self) { try XMLReader.parse(text) }
        #expect(error?.code == .parseError)
    }

    static let otherEncodings: [[UInt8]] = [
        [0x3c, 0x61, 0x3e, 0xe9, 0x3c, 0x2f, 0x61, 0x3e],
        [0xff, 0xfe, 0x3c, 0x00, 0x61, 0x00, 0x2f, 0x00, 0x3e, 0x00],
        [0xfe, 0xff, 0x00, 0x3c, 0x00, 0x61, 0x00, 0x2f, 0x00, 0x3e],
        [0x3c, 0x61, 0x3e, 0xc0, 0xaf, 0x3c, 0x2f, 0x61, 0x3e],
    ]

    @Test("P54 invalid UTF-8 is rejected", arguments: otherEncodings)
    func notUTF8(bytes: [UInt8]) {
        #expect(throws: ExperimentationError.self) { try XMLReader.parse(bytes) }
    }

    @Test("P54 a truncated document is rejected, wherever it ends")
    func truncated() throws {
        let whole = Array("<?xml version=\"1.0\"?><a x='1'><b>t &amp; u<![CDATA[c]]></b><!-- d --><e/></a>".utf8)
        for count in 0..<whole.count {
            #expect(throws: ExperimentationError.self) { try XMLReader.parse(Array(whole.prefix(count))) }
        }
        #expect(try XMLReader.parse(whole).children.count == 2)
    }

    @Test("P54 deep nesting and large documents do no harm, on a stack of 512 KiB", arguments: [64, 65, 100_000])
    func nesting(depth: Int) async {
        let text = String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        #expect(await onSmallStack { (try? XMLReader.parse(text)) != nil } == (depth <= 64))
    }

    @Test("P54 a text of 20 MB is read unchanged")
    func large() async throws {
        let text = String(repeating: "x", count: 20 << 20)
        let tree = try await besideThePool { try XMLReader.parse("<a>\(text)</a>") }
        #expect(tree.text.utf8.count == 20 << 20)
    }

    @Test("P54 an element with 300,000 attributes is read like any other", .timeLimit(.minutes(2)))
    func manyAttributes() async throws {
        let names = (0..<300_000).map { "a\($0)" }
        let text = "<a" + names.map { " \($0)=''" }.joined()
        let tree = try await besideThePool { try XMLReader.parse("\(text)/>") }
        #expect(tree.attributes.map(\.name) == names)
        await #expect(throws: ExperimentationError.self) {
            try await besideThePool { try XMLReader.parse("\(text) a0=''/>") }
        }
    }

    @Test("attributes whose names differ in bytes alone are two")
    func composedAndDecomposed() throws {
        let tree = try XMLReader.parse("<a \u{e9}=\"1\" e\u{301}=\"2\"/>")
        #expect(tree.attributes.map(\.value) == ["1", "2"])
    }

    @Test("whatever our reader accepts, Foundation's reader accepts with the same result")
    func agrees() throws {
        var random = SeededGenerator(seed: 11)
        let pieces = [
            "<a>", "</a>", "<b x='1'>", "</b>", "<c/>", "t", " ", "&amp;", "&#65;", "<![CDATA[", "]]>", "<!--", "-->",
            "&", "<", "é", "\n",
        ]
        var taken = 0
        for _ in 0..<20_000 {
            let middle = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }
            let bytes = Array(("<r>" + middle.joined() + "</r>").utf8)
            guard let ours = try? XMLReader.parse(bytes) else { continue }
            taken += 1
            let theirs = try #require(Foreign.parse(bytes))
            #expect(theirs.first == Array("r".utf8))
            #expect(Foreign.texts(bytes) == Self.texts(ours))
        }
        #expect(taken > 1000)
    }

    /// All text of a tree, sorted because the order between text and elements isn't kept.
    private static func texts(_ tree: XMLTree) -> String {
        String((tree.text + tree.children.map(texts).joined()).sorted())
    }
}

/// A tree as parsed by Foundation, flattened.
private final class Foreign: NSObject, XMLParserDelegate {
    private var path: [String] = []
    private var found: [[UInt8]] = []
    private var text = ""
    private var all = ""

    static func parse(_ bytes: [UInt8]) -> [[UInt8]]? {
        let reader = Foreign()
        return reader.run(bytes) ? reader.found : nil
    }

    static func texts(_ bytes: [UInt8]) -> String? {
        let reader = Foreign()
        return reader.run(bytes) ? String(reader.all.sorted()) : nil
    }

    private func run(_ bytes: [UInt8]) -> Bool {
        let parser = XMLParser(data: Data(bytes))
        parser.delegate = self
        return parser.parse() && parser.parserError == nil
    }

    func parser(
        _ parser: XMLParser,
        didStartElement name: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        path.append(name)
        text = ""
        if path.count == 1 { found.append(Array(name.utf8)) }
        for (key, value) in attributes where path.count == 2 {
            found.append(Array("/\(name)@\(key)=".utf8))
            found.append(Array(value.utf8))
        }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        text += string
        all += string
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        text += String(decoding: block, as: UTF8.self)
        all += String(decoding: block, as: UTF8.self)
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        if path.count == 2, name != "v" {
            found.append(Array("/\(name)=".utf8))
            found.append(Array(text.utf8))
        }
        path.removeLast()
    }
}
