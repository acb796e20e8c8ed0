import Foundation
import Testing

@testable import Experimentation

@Suite("JSON is written in two formats")
struct JSONWriterTests {
    private static let forms = [JSONWriter.Form.asEncoder, .exact]

    private static func written(
        _ value: FlagValue,
        _ form: JSONWriter.Form,
        leading: [String] = [],
        deepest: Int = 64
    ) throws -> [UInt8] {
        var writer = JSONWriter(form, leading: leading, deepest: deepest)
        try writer.value(value)
        return writer.bytes
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test(
        "only what must be is escaped, in the shortest way",
        arguments: [
            ("\"", #"\""#), ("\\", #"\\"#), ("/", "/"), ("\u{8}", #"\b"#), ("\t", #"\t"#), ("\n", #"\n"#),
            ("\u{c}", #"\f"#), ("\r", #"\r"#), ("\0", #"\u0000"#), ("\u{b}", #"\u000b"#), ("\u{10}", #"\u0010"#),
            ("\u{1f}", #"\u001f"#), ("\u{7f}", "\u{7f}"), ("\u{2028}", "\u{2028}"), ("é😀", "é😀"), ("", ""),
            ("\r\n", #"\r\n"#), ("é\"", #"é\""#),
        ]
    )
    func escapes(text: String, inside: String) throws {
        for form in Self.forms {
            #expect(Self.text(try Self.written(.string(text), form)) == "\"\(inside)\"")
            #expect(Self.text(try Self.written([text: 1], form)) == "{\"\(inside)\":1}")
        }
    }

    @Test("every character is written as by the encoder, and read back unchanged")
    func characters() throws {
        var wrong: [UInt32] = []
        let encoder = JSONWriter.encoder()
        let scalars = (0..<0x3000).compactMap { Unicode.Scalar($0 as UInt32) }
        for scalar in scalars + ["\u{d7ff}", "\u{e000}", "\u{fffd}", "\u{ffff}", "\u{10000}", "\u{10ffff}"] {
            let text = "a\(scalar)"
            for form in Self.forms {
                let bytes = try Self.written(.string(text), form)
                let read = try JSONParser.document(bytes, deepest: 0)
                if try bytes != [UInt8](encoder.encode(text))
                    || read.stringValue.map({ Array($0.utf8) }) != Array(text.utf8)
                {
                    wrong.append(scalar.value)
                }
            }
        }
        #expect(wrong == [])
    }

    private static let doubles: [Double] = [
        0, -0.0, 1, -1, 0.5, 0.1, 100, 1e15, 1e16, 1e17, 9_007_199_254_740_992, 9.3e18, 1e22, 1e-5, 1e300, .pi,
        .leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
        1_795_262_400.123_456,
    ]

    @Test("a number reads back with its type, or is written as by the encoder", arguments: doubles)
    func fractions(number: Double) throws {
        let exact = try JSONParser.document(Self.written(.double(number), .exact), deepest: 0)
        let read: Double? = if case .double(let read) = exact { read } else { nil }
        #expect(read?.bitPattern == number.bitPattern)
        #expect(try Self.written(.double(number), .asEncoder) == [UInt8](JSONWriter.encoder().encode(number)))
    }

    @Test("an integer is written to its last digit", arguments: [Int.min, -1, 0, 1, 999_999_999_999_999_999, .max])
    func wholeNumbers(number: Int) throws {
        for form in Self.forms {
            let bytes = try Self.written(.int(number), form)
            #expect(Self.text(bytes) == "\(number)")
            #expect(try JSONParser.document(bytes, deepest: 0) == .int(number))
        }
    }

    @Test("infinities and NaN are rejected at any depth", arguments: [Double.nan, .infinity, -.infinity])
    func notFinite(number: Double) {
        for value in [.double(number), ["a": [1, .double(number)]], ["é": .double(number)]] as [FlagValue] {
            for form in Self.forms {
                #expect(throws: JSONWriter.Refusal.notFinite) { try Self.written(value, form) }
            }
        }
    }

    @Test("after the leading ones, names are sorted by bytes at every depth")
    func order() throws {
        let value: FlagValue = ["b": ["z": 1, "a": 2, "b": 3], "a": 1, "B": 2, "aa": 3, "": 4]
        for form in Self.forms {
            #expect(Self.text(try Self.written(value, form)) == #"{"":4,"B":2,"a":1,"aa":3,"b":{"a":2,"b":3,"z":1}}"#)
            let led = try Self.written(value, form, leading: ["z", "b", "missing", "aa"])
            #expect(Self.text(led) == #"{"b":{"z":1,"b":3,"a":2},"aa":3,"":4,"B":2,"a":1}"#)
        }
        let names: FlagValue = ["é": 1, "z": 2, "\u{10FFFF}": 3, "\u{FB01}": 4, "e\u{301}z": 5]
        #expect(
            Self.text(try Self.written(names, .exact))
                == "{\"e\u{301}z\":5,\"z\":2,\"é\":1,\"\u{FB01}\":4,\"\u{10FFFF}\":3}"
        )
        #expect(try Self.written(names, .asEncoder) == [UInt8](JSONWriter.encoder().encode(names)))
    }

    @Test("nesting is written up to the limit, including empty levels", arguments: [0, 1, 2, 64])
    func depth(deepest: Int) throws {
        for innermost in [[], [:], [1], ["a": 1]] as [FlagValue] {
            var value: FlagValue = innermost
            for level in 1..<max(1, deepest) { value = level.isMultiple(of: 2) ? [value, 0] : ["a": value] }
            for form in Self.forms where deepest > 0 {
                #expect(try JSONParser.document(Self.written(value, form, deepest: deepest), deepest: 64) == value)
            }
            let deeper: FlagValue = deepest == 0 ? value : [value]
            for form in Self.forms {
                #expect(throws: JSONWriter.Refusal.tooDeep(deepest)) {
                    try Self.written(deeper, form, deepest: deepest)
                }
            }
        }
    }
}
