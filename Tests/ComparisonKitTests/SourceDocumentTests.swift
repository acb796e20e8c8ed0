import ComparisonKit
import ConformanceKit
import Experimentation
import Testing

@Suite("Documents with lines")
struct SourceDocumentTests {
    @Test("a document is read unchanged, with a line for every position")
    func readsWithLines() throws {
        let text = """
            {
              "name": "a \\"b\\" \\u00fc",
              "list": [1, 2.5,
                {"deep": null, "on": true}],
              "empty": {}, "none": [], "off": false
            }
            """
        let document = try SourceDocument(json: text.utf8, name: "x.json")
        #expect(
            document.value == [
                "name": "a \"b\" ü", "list": [1, 2.5, ["deep": nil, "on": true]], "empty": [:], "none": [],
                "off": false,
            ]
        )
        #expect(document.lines["name"] == 2)
        #expect(document.lines["list[1]"] == 3)
        #expect(document.lines["list[2].on"] == 4)
        #expect(document.lines["off"] == 5)
    }

    @Test(
        "anything but one complete JSON value is rejected in a line with the position",
        arguments: [
            ("", "x.json: is empty; expected a JSON object"),
            (" \n ", "x.json: is empty; expected a JSON object"),
            ("{\"a\":", "x.json:1: expected a value, found the end of the file"),
            ("{\"a\": 1,\n \"b\": [1, 2", "x.json:2: expected a comma or ], found the end of the file"),
            ("{\"a\": \"open", "x.json:1: expected the text's closing quote, found the end of the file"),
            ("{\"a\": \"open\\", "x.json:1: expected the text's closing quote, found the end of the file"),
            ("{\n\"a\": 1,\n\"a\": 2}", "x.json:3: a: the key is there twice"),
            ("{\"a\" 1}", "x.json:1: expected a colon after \"a\", found \"1\""),
            ("{a: 1}", "x.json:1: expected a key in quotes, found \"a\""),
            ("{} {}", "x.json:1: expected the end of the text, found \"{\""),
            ("{\"a\": NaN}", "x.json:1: expected a value, found \"N\""),
            ("{\"a\": 1e999}", "x.json:1: expected a finite number, found 1e999"),
            ("{\"a\": 01}", "x.json:1: expected a finite number, found 01"),
            ("{\"a\": tru}", "x.json:1: expected a value, found \"t\""),
        ]
    )
    func refuses(text: String, message: String) {
        let error = #expect(throws: DocumentError.self) { try SourceDocument(json: text.utf8, name: "x.json") }
        #expect(error?.description == message)
    }

    @Test("sixty-four levels are read; a hundred and a hundred thousand are rejected", arguments: [64, 100, 100_000])
    func depth(levels: Int) throws {
        let text = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        if levels <= SourceDocument.deepest {
            #expect(throws: Never.self) { try SourceDocument(json: text.utf8, name: "x") }
        } else {
            #expect(throws: DocumentError(document: "x:1", path: "", problem: "is nested more than 64 levels deep")) {
                try SourceDocument(json: text.utf8, name: "x")
            }
        }
    }

    @Test("an error about a missing key names the line of the object")
    func locatesMissingKeys() throws {
        let document = try SourceDocument(json: "{\n\"steps\": [\n{},\n{}]}".utf8, name: "x.json")
        let error = DocumentError(document: "x.json", path: "steps[1].read", problem: "p")
        #expect(document.locating(error).description == "x.json:4: steps[1].read: p")
    }
}
