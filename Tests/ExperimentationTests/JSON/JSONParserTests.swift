import Testing

@testable import Experimentation

@Suite("JSON documents are read without recursion")
struct JSONParserTests {
    private static func read(_ text: String, builds: Bool = true) throws(JSONFault) -> FlagValue {
        try JSONParser.document(Array(text.utf8), deepest: 64, builds: builds)
    }

    @Test("objects of any size keep all their fields, even when nested", arguments: [1, 7, 8, 9, 10, 40, 300])
    func sizes(count: Int) throws {
        var value: FlagValue = 0
        for level in 1...3 {
            var fields: [String: FlagValue] = ["inner": value]
            for number in 1..<max(2, count) { fields["n\(number)"] = .array([.int(number), .int(level)]) }
            value = .object(fields)
        }
        var writer = JSONWriter(.exact)
        try writer.value(value)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        #expect(try Self.read(text) == value)
        _ = try Self.read(text, builds: false)
        // The same after an object of the same size, and inside one.
        #expect(try Self.read("[\(text),{\"n1\":\(text)}]") == [value, ["n1": value]])
    }

    @Test(
        "a duplicate name is found at any position, whether values are built or only checked",
        arguments: [2, 8, 9, 10, 20]
    )
    func repetitions(count: Int) {
        for first in 0..<count - 1 {
            // Objects inside and before have the same keys, which isn't a duplicate.
            var fields = (0..<count).map { "\"n\($0)\":{\"n0\":1,\"n\($0)x\":2}" }
            let whole = "{\"n0\":1,\"n1\":{\(fields.joined(separator: ","))}}"
            fields[count - 1] = "\"\\u006e\(first)\":3"
            let twice = "{\"n0\":1,\"n1\":{\(fields.joined(separator: ","))}}"
            for builds in [true, false] {
                #expect(throws: Never.self) { try Self.read(whole, builds: builds) }
                let fault = #expect(throws: JSONFault.self) { try Self.read(twice, builds: builds) }
                #expect(fault?.reason == "a name that appears twice in one object")
                #expect(fault?.column == twice.utf8.count - 3)
            }
        }
    }

    @Test(
        "canonically equivalent names are the same name, in small objects and in large ones",
        arguments: [0, 7, 8, 20]
    )
    func equalNames(others: Int) {
        let fields = (0..<others).map { "\"n\($0)\":0," }.joined()
        for builds in [true, false] {
            let fault = #expect(throws: JSONFault.self) {
                try Self.read("{\(fields)\"é\":1,\"e\u{301}\":2}", builds: builds)
            }
            #expect(fault?.reason == "a name that appears twice in one object")
        }
    }

    @Test("nesting is read up to the limit, for any kind of level", arguments: [0, 1, 2, 64])
    func depth(deepest: Int) throws {
        for (start, end) in [("[", "]"), ("{\"a\":", "}")] {
            let texts = [deepest, deepest + 1].map { depth in
                String(repeating: start, count: depth) + "1" + String(repeating: end, count: depth)
            }
            let value = try JSONParser.document(Array(texts[0].utf8), deepest: deepest)
            #expect(value.depth(upTo: 100) == deepest)
            let fault = #expect(throws: JSONFault.self) {
                try JSONParser.document(Array(texts[1].utf8), deepest: deepest)
            }
            #expect(fault?.reason == "more than \(deepest) levels of nesting")
            #expect(fault?.column == start.utf8.count * deepest + 1)
        }
    }
}
