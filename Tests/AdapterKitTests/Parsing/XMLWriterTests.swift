import AdapterKit
import Testing

@Suite("Writing XML")
struct XMLWriterTests {
    @Test("elements, attributes, texts and sections are written without white space")
    func writes() {
        var writer = XMLWriter()
        writer.element("a", attributes: [.init("n", "1"), .init("m", "")]) { writer in
            writer.element("b", "text")
            writer.element("c") { $0.section("section") }
            writer.element("d") { _ in }
        }
        #expect(writer.document == #"<a n="1" m=""><b>text</b><c><![CDATA[section]]></c><d></d></a>"#)
    }

    @Test(
        "a value is read back as it was",
        arguments: [
            "a & b", "<b>", "]]>", "a]]]]>>", "]]", "\"quoted\"", "'", "tab\tend", "line\nend", "line\r\nend", "\r",
            " spaces ", "é 漢字 😀", "&amp;", "<![CDATA[x]]>", "",
        ]
    )
    func roundTrip(value: String) throws {
        var writer = XMLWriter()
        writer.element("a", attributes: [.init("n", value)]) { writer in
            writer.element("text", value)
            writer.element("section") { $0.section(value) }
        }
        let tree = try XMLReader.parse(Array(writer.document.utf8))
        #expect(tree.attribute("n") == value)
        #expect(tree["text"]?.text == value)
        #expect(tree["section"]?.text == value)
    }

    @Test("what XML can't represent is left out, and what surrounds it stays harmless")
    func leftOut() throws {
        var writer = XMLWriter()
        writer.element("a") { $0.section("]\u{0}]\u{FFFE}>\u{FFFF}") }
        #expect(try XMLReader.parse(Array(writer.document.utf8)).text == "]]>")
    }

    @Test(
        "names are ASCII and begin with a letter or an underscore",
        arguments: [
            ("LIST_ID", true), ("_", true), ("a-1.b", true), ("", false), ("1a", false), ("-", false), ("a b", false),
            ("a>", false), ("é", false), ("a:b", false),
        ]
    )
    func names(name: String, isName: Bool) {
        #expect(XMLWriter.isName(name) == isName)
    }
}
