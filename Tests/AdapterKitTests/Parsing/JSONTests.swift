import AdapterKit
import Experimentation
import Foundation
import Testing

@Suite("JSON")
struct JSONTests {
    @Test(
        "P39 every kind of value is read with its type",
        arguments: [
            ("null", FlagValue.null), ("true", true), ("false", false), ("0", 0), ("-1", -1), ("1.0", 1.0),
            ("1e3", 1000.0),
            ("-0", -0.0), ("9007199254740993", 9_007_199_254_740_993), ("9223372036854775807", .int(.max)),
            ("-9223372036854775808", .int(.min)), ("9223372036854775808", .double(9.223372036854775808e18)),
            ("-9223372036854775809", .double(-9.223372036854775808e18)),
            ("1e-400", 0.0),
            ("1.7976931348623157e308", 1.7976931348623157e308),
            ("0.1", 0.1), ("5e-324", .double(.leastNonzeroMagnitude)), (#""""#, ""),
            (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{c}\n\r\t"),
            (#""\u00e9\ud83d\ude00\u0000""#, "é😀\0"), (#""é😀""#, "é😀"), ("[]", []), ("{}", [:]),
            (" [ 1 , [ ] , { } ] ", [1, [], [:]]),
            (#"{"a":{"b":[true,null,"x"]},"":1}"#, ["a": ["b": [true, nil, "x"]], "": 1]),
            ("\u{feff}1", 1), ("\t\r\n 1 \t\r\n", 1),
        ] as [(String, FlagValue)]
    )
    func values(text: String, value: FlagValue) throws {
        let read = try JSON.parse(text)
        #expect(read == value)
        if case .double(let number) = read { #expect(number.sign == value.doubleValue?.sign) }
        try JSON.check(Array(text.utf8))
    }

    static let refused = [
        "", " ", "nul", "True", "tru", "nan", "NaN", "Infinity", "-", "+1", "01", "-01", ".5", "1.", "1e", "1e+", "0x1",
        "1e400", "-1e400", String(repeating: "9", count: 400), "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", "}",
        "{,}",
        #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1"#, #"{a:1}"#, #"{'a':1}"#, #"{"a":1 "b":2}"#, "1 2", "[1]]",
        "{}}", "\"", "\"a",
        "\"\n\"", "\"\u{1}\"", #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud800""#, #""\ud800x""#, #""\ud800\n""#,
        #""\udc00""#,
        #""\ud800\ud800""#, #""\"#, "//c\n1", "/**/1", "[1,2", "\u{feff}", "1\0", "\0", "'a'", "undefined", "[1;2]",
        "{\"a\" 1}",
    ]

    @Test("P55 invalid JSON is an error with a position", arguments: refused)
    func refuses(text: String) {
        let error = #expect(throws: ExperimentationError.self) { try JSON.parse(text) }
        #expect(error?.code == .parseError)
        #expect(error?.message.hasPrefix("line ") == true)
        #expect(throws: ExperimentationError.self) { try JSON.check(Array(text.utf8)) }
    }

    @Test(
        "P55 invalid UTF-8 is an error",
        arguments: [
            [0x22, 0xff, 0x22], [0x22, 0xc0, 0xaf, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22],
            [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
            [0x22, 0xe2, 0x82, 0x22], [0x22, 0x80, 0x22], [0xff, 0xfe, 0x31, 0x00], [0xfe, 0xff, 0x00, 0x31],
            [0x31, 0x00],
            [0x22, 0x5c, 0x6e, 0xff, 0x22],
        ] as [[UInt8]]
    )
    func notUTF8(bytes: [UInt8]) {
        let error = #expect(throws: ExperimentationError.self) { try JSON.parse(bytes) }
        #expect(error?.code == .parseError)
    }

    @Test("an error names line and column and repeats nothing of the text")
    func place() {
        let error = #expect(throws: ExperimentationError.self) {
            try JSON.parse("{\n  \"secret\": \"canary\",\n  \"b\": canary\n}")
        }
        #expect(error?.message == "line 3, column 8: expected a value")
        let end = #expect(throws: ExperimentationError.self) { try JSON.parse("[1,") }
        #expect(end?.message == "line 1, column 4: the document ends too early; expected a value")
    }

    @Test(
        "P40 a duplicate name is an error, at any depth and however it is escaped",
        arguments: [
            #"{"a":1,"a":1}"#, #"{"x":[{"a":1,"b":2,"a":3}]}"#, #"{"a":1,"\u0061":2}"#, "{\"é\":1,\"e\u{301}\":2}",
            #"{"":1,"":2}"#,
        ]
    )
    func duplicates(text: String) {
        #expect(throws: ExperimentationError.self) { try JSON.parse(text) }
        #expect(throws: ExperimentationError.self) { try JSON.check(Array(text.utf8)) }
    }

    @Test("the same name in different objects isn't a duplicate")
    func sameNameElsewhere() throws {
        let value = try JSON.parse(#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#)
        #expect(value == ["a": ["a": 1], "b": [["a": 1], ["a": 2]]])
    }

    @Test(
        "P55 nesting is limited before it exhausts the stack, with 512 KiB",
        arguments: [64, 65, 513, 10_000, 1_000_000]
    )
    func nesting(depth: Int) async {
        for pair in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
            let count = pair.0.hasPrefix("[{") ? (depth + 1) / 2 : depth
            let inner = pair.0.hasSuffix(":") ? "1" : ""
            let text = String(repeating: pair.0, count: count) + inner + String(repeating: pair.1, count: count)
            let isRead = await onSmallStack {
                (try? JSON.parse(text)) != nil && (try? JSON.decode(Deep.self, from: Array(text.utf8))) != nil
            }
            #expect(isRead == (depth <= 64))
        }
        let open = String(repeating: "[", count: depth)
        #expect(await onSmallStack { (try? JSON.parse(open)) == nil })
    }

    @Test("P55 500 damaged documents do nothing worse than fail, on a stack of 512 KiB")
    func damaged() async {
        let whole = Array(
            #"{"a":[1,-2.5e3,"x\u00e9\n",{"b":null,"c":[true,false,{"d":{}}]}],"é":"😀","n":9223372036854775807}"#.utf8
        )
        let survived = await onSmallStack {
            var random = SeededGenerator(seed: 7)
            var read = 0
            for _ in 0..<500 {
                var bytes = whole
                for _ in 0...Int.random(in: 0...3, using: &random) {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0...2, using: &random) {
                    case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                    case 1: bytes.remove(at: place)
                    default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: place)
                    }
                }
                if let value = try? JSON.parse(bytes) {
                    read += 1
                    guard (try? JSON.parse(JSON.encode(value))) == value else { return false }
                }
            }
            return read < 500
        }
        #expect(survived)
    }

    /// A value nested so deeply that recursion over it needs megabytes of stack.
    ///
    /// Never released, because the language's own release recurses, too.
    private static let deep: [FlagValue] = (0..<2).map { _ in
        var value = FlagValue.int(1)
        for index in 0..<10_000 { value = index.isMultiple(of: 2) ? .array([value]) : .object(["a": value]) }
        return value
    }

    @Test("P56 a caller's value that is nested too deeply is rejected, on a stack of 512 KiB")
    func deepValues() async {
        struct Holder: Encodable { let value: FlagValue }
        let codes = await onSmallStack { () -> [ErrorCode?] in
            let ours = Result { () throws(ExperimentationError) in try JSON.encode(Self.deep[0]) }
            let foundations = Result { () throws(ExperimentationError) in try JSON.encode(Holder(value: Self.deep[0])) }
            return [ours.code, foundations.code]
        }
        #expect(codes == [.invalidArgument, .invalidArgument])
    }

    @Test("P56 a deep value is compared, hashed, measured and printed on a stack of 512 KiB")
    func deepValuesElsewhere() async {
        let text = await onSmallStack { () -> String in
            let (one, other) = (Self.deep[0], Self.deep[1])
            guard one == other, one != .array([one]), one.hashValue == other.hashValue else { return "not equal" }
            guard one.depth(upTo: 16) == 17, one.depth(upTo: 100_000) == 10_000, one.isFinite else {
                return "not measured"
            }
            guard User(id: "u", attributes: ["a": one]) == User(id: "u", attributes: ["a": other]) else {
                return "not equal"
            }
            return one.description
        }
        #expect(text.hasPrefix(#"{"a": [{"a": [{"a": "#) && text.contains("…") && text.count < 1_000, "\(text)")
    }

    @Test("a written value reads back unchanged")
    func roundTrip() throws {
        let value: FlagValue = [
            "z": [1, -1, 1.5, 100.0, .double(1e300), .double(.leastNonzeroMagnitude), .int(.min), .null, true],
            "a": ["b": [:], "c": []],
            "text": "\"\\/\n\r\t\u{8}\u{1f}\u{7f}é😀\u{2028}", "": "",
        ]
        let bytes = try JSON.encode(value)
        #expect(try JSON.parse(bytes) == value)
        #expect(try JSONDecoder().decode(FlagValue.self, from: Data(bytes)).objectValue?.count == 4)
    }

    @Test("keys have a fixed order, and only what must be is escaped")
    func order() throws {
        let value: FlagValue = ["b": 1, "a": ["d": "x/y", "c": 2.0], "é": "é"]
        #expect(String(decoding: try JSON.encode(value), as: UTF8.self) == #"{"a":{"c":2.0,"d":"x/y"},"b":1,"é":"é"}"#)
        let first = try JSON.encode(value, order: .first(["b", "missing", "d"]))
        #expect(String(decoding: first, as: UTF8.self) == #"{"b":1,"a":{"d":"x/y","c":2.0},"é":"é"}"#)
    }

    @Test("NaN and infinity can't be written", arguments: [Double.nan, .infinity, -.infinity])
    func notANumber(number: Double) {
        let error = #expect(throws: ExperimentationError.self) { try JSON.encode(.array([.double(number)])) }
        #expect(error?.code == .invalidArgument)
    }

    struct Sample: Codable, Equatable {
        var name: String
        var items: [Item]
        struct Item: Codable, Equatable { var count: Int }
    }

    @Test("decoding a type applies the same checks")
    func decodes() throws {
        let sample = try JSON.decode(Sample.self, from: Array(#"{"name":"a","items":[{"count":2}]}"#.utf8))
        #expect(sample == Sample(name: "a", items: [.init(count: 2)]))
        #expect(String(decoding: try JSON.encode(sample), as: UTF8.self) == #"{"items":[{"count":2}],"name":"a"}"#)
    }

    @Test(
        "a decoding error names the key and the expected type, and no value",
        arguments: [
            (#"{"name":"a","items":[{"count":"canary"}]}"#, "items[0].count: not of the type Int"),
            (#"{"name":"a","items":[{}]}"#, #"items[0]: "count" is missing"#),
            (#"{"name":null,"items":[]}"#, "name: null where a value of the type String is expected"),
            (#"{"name":"a","items":[{"count":1.5}]}"#, "the document: a value that isn't allowed here"),
            (#"[]"#, "the document: not of the type"),
            (#"{"name":"a","name":"b","items":[]}"#, "line 1, column 19: a name that appears twice in one object"),
            (#"{"name":"a","items":[],}"#, "line 1, column 24: expected a name in quotes"),
        ]
    )
    func decodingErrors(text: String, message: String) {
        let error = #expect(throws: ExperimentationError.self) { try JSON.decode(Sample.self, from: Array(text.utf8)) }
        #expect(error?.code == .parseError)
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("canary") == false)
    }
}

/// A type that decodes recursively and tries one kind after another, as many do.
private enum Deep: Decodable {
    case none
    indirect case list([Deep])
    indirect case object([String: Deep])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let list = try? container.decode([Deep].self) {
            self = .list(list)
        } else if let object = try? container.decode([String: Deep].self) {
            self = .object(object)
        } else {
            self = .none
        }
    }
}
