import Testing
import Waiting

@testable import Experimentation

@Suite("JSON tokens are read as in RFC 8259")
struct JSONLexerTests {
    private static func text(_ token: String) throws(JSONFault) -> String { try text(Array(token.utf8)) }

    private static func text(_ token: [UInt8]) throws(JSONFault) -> String {
        try token.withUnsafeBufferPointer { bytes throws(JSONFault) in
            var lexer = JSONLexer(bytes)
            let text = try lexer.text()
            guard lexer.isAtEnd else { throw lexer.fault("something is left") }
            return text
        }
    }

    private static func number(_ token: String) throws(JSONFault) -> JSONNumber {
        try Array(token.utf8).withUnsafeBufferPointer { bytes throws(JSONFault) in
            var lexer = JSONLexer(bytes)
            let number = try lexer.number()
            guard lexer.isAtEnd else { throw lexer.fault("something is left") }
            return number
        }
    }

    @Test(
        "each short escape is decoded as its character",
        arguments: [
            (#"\""#, "\""), (#"\\"#, "\\"), (#"\/"#, "/"), (#"\b"#, "\u{8}"), (#"\f"#, "\u{c}"), (#"\n"#, "\n"),
            (#"\r"#, "\r"), (#"\t"#, "\t"), (#"\\n"#, "\\n"), (#"\\\""#, "\\\""),
        ]
    )
    func shortEscapes(escape: String, character: String) throws {
        #expect(try Self.text("\"\(escape)\"") == character)
        #expect(try Self.text("\"é\(escape)😀\"") == "é\(character)😀")
    }

    @Test("no other letter makes an escape")
    func otherEscapes() {
        let known = Set(#""\/bfnrtu"#.utf8)
        for byte in UInt8.min...UInt8.max where !known.contains(byte) {
            #expect(throws: JSONFault(reason: "no such escape", line: 1, column: 3), "\(byte)") {
                try Self.text([0x22, 0x5c, byte, 0x22])
            }
        }
    }

    @Test("every character of the basic plane is read from four digits, and no lone surrogate is")
    func fourDigits() {
        var wrong: [UInt16] = []
        for unit in UInt16.min...UInt16.max {
            let digits = String(unit, radix: 16)
            let token = #""\u"# + String(repeating: "0", count: 4 - digits.count) + digits + "\""
            let character = Unicode.Scalar(UInt32(unit)).map(String.init)
            for token in [token, token.uppercased().replacing("U", with: "u")]
            where (try? Self.text(token)) != character {
                wrong.append(unit)
            }
        }
        #expect(wrong == [])
    }

    @Test(
        "a surrogate pair is one character",
        arguments: [
            (#"\ud800\udc00"#, "\u{10000}"), (#"\udbff\udfff"#, "\u{10FFFF}"), (#"\uD83D\uDE00"#, "😀"),
            (#"\ud83d\ude00\ud83d\ude00"#, "😀😀"),
        ]
    )
    func pairs(escapes: String, character: String) throws { #expect(try Self.text("\"\(escapes)\"") == character) }

    @Test(
        "a lone surrogate is rejected where its other half is missing",
        arguments: [
            (#""\ud800""#, "half a surrogate pair", 8), (#""\ud800x""#, "half a surrogate pair", 8),
            (#""\ud800\n""#, "half a surrogate pair", 9), (#""\ud800\ud800""#, "half a surrogate pair", 14),
            (#""\ud800\u0041""#, "half a surrogate pair", 14), (#""\udc00""#, "half a surrogate pair", 8),
            (#""\udfff\ud800""#, "half a surrogate pair", 8),
            (#""\ud800\u00""#, "expected four hexadecimal digits", 12),
            (#""\ud800"#, "the document ends too early; half a surrogate pair", 8),
            (#""\ud800\"#, "the document ends too early; half a surrogate pair", 9),
        ]
    )
    func halves(token: String, reason: String, column: Int) {
        #expect(throws: JSONFault(reason: reason, line: 1, column: column)) { try Self.text(token) }
    }

    @Test("a control character is rejected at its position, in strings with and without escapes")
    func controlCharacters() {
        for byte in UInt8(0)..<0x20 {
            let fault = JSONFault(reason: "a control character in a text", line: 1, column: 3)
            #expect(throws: fault) { try Self.text([0x22, 0x61, byte, 0x22]) }
            #expect(throws: JSONFault.self) { try Self.text([0x22, 0x5c, 0x6e, byte, 0x22]) }
        }
        #expect((try? Self.text("\"\u{7f}\u{80}\u{2028}\"")) == "\u{7f}\u{80}\u{2028}")
    }

    @Test(
        "invalid UTF-8 is rejected, in strings with or without escapes",
        arguments: [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80]]
            as [[UInt8]]
    )
    func notUTF8(bytes: [UInt8]) {
        for inner in [bytes, bytes + [0x5c, 0x6e], [0x5c, 0x6e] + bytes] {
            let fault = JSONFault(reason: "a text that isn't UTF-8", line: 1, column: inner.count + 2)
            #expect(throws: fault) { try Self.text([0x22] + inner + [0x22]) }
        }
    }

    @Test(
        "a number is an integer, a decimal or another one, by its notation and range",
        arguments: [
            ("0", .whole(0)), ("-1", .whole(-1)), ("999999999999999999", .whole(999_999_999_999_999_999)),
            ("9223372036854775807", .whole(.max)), ("-9223372036854775808", .whole(.min)),
            ("9223372036854775808", .other(9_223_372_036_854_775_808)),
            ("-9223372036854775809", .other(-9_223_372_036_854_775_808)),
            ("9999999999999999999", .other(1e19)), ("-9999999999999999999", .other(-1e19)),
            ("18446744073709551616", .other(18_446_744_073_709_551_616)), ("100000000000000000000", .other(1e20)),
            ("-0", .other(-0.0)), ("-0.0", .decimal(-0.0)), ("2.0", .decimal(2)), ("-2.5", .decimal(-2.5)),
            ("0.1", .decimal(0.1)), ("9007199254740993.0", .decimal(9_007_199_254_740_992)),
            ("0.00000000000000000001", .decimal(1e-20)), ("1e3", .other(1_000)), ("1E+3", .other(1_000)),
            ("2.5e-1", .other(0.25)), ("1e-400", .other(0)), ("5e-324", .other(.leastNonzeroMagnitude)),
            ("1.7976931348623157e308", .other(.greatestFiniteMagnitude)),
        ] as [(String, JSONNumber)]
    )
    func numbers(token: String, number: JSONNumber) throws {
        let read = try Self.number(token)
        #expect(read == number)
        #expect(read.double.sign == number.double.sign)
    }

    @Test(
        "an invalid number is rejected at the first wrong character",
        arguments: [
            ("-", "the document ends too early; expected a digit", 2), ("-x", "expected a digit", 2),
            ("01 ", "a number doesn't begin with 0", 3), ("-00 ", "a number doesn't begin with 0", 4),
            ("1. ", "expected a digit", 3), ("1.e1", "expected a digit", 3), ("1e ", "expected a digit", 3),
            ("1e+ ", "expected a digit", 4), ("1e400 ", "a number that is too large", 6),
            (String(repeating: "9", count: 400) + " ", "a number that is too large", 401),
        ]
    )
    func notNumbers(token: String, reason: String, column: Int) {
        #expect(throws: JSONFault(reason: reason, line: 1, column: column)) { try Self.number(token) }
    }

    @Test("any number is read as by the C library")
    func anyNumber() throws {
        let dice = Dice(11)
        for _ in 0..<(isSoak ? 200_000 : 20_000) {
            var token = dice.below(2) == 0 ? "-" : ""
            token += (0...dice.below(20)).map { $0 == 0 ? String(1 + dice.below(9)) : String(dice.below(10)) }.joined()
            if dice.below(2) == 0 { token += "." + (0...dice.below(20)).map { _ in String(dice.below(10)) }.joined() }
            if dice.below(4) == 0 { token += "e" + String(dice.below(400) - 200) }
            let number = try Self.number(token)
            if case .whole(let whole) = number {
                #expect(Int(token) == whole)
            } else {
                #expect(!token.allSatisfy { $0 == "-" || $0.isNumber } || Int(token) == nil, "\(token)")
                #expect(number.double.bitPattern == Double(token)?.bitPattern, "\(token)")
            }
        }
    }

    @Test("expected bytes are consumed only if all of them are there")
    func exactBytes() {
        let taken = Array("nullnul".utf8).withUnsafeBufferPointer { bytes in
            var lexer = JSONLexer(bytes)
            let taken = ["nulls", "null", "null", "nul", "n"].map { (text: StaticString) in lexer.take(exactly: text) }
            return taken + [lexer.isAtEnd, lexer.current == 0]
        }
        #expect(taken == [false, true, false, true, false, true, true])
        var nothing = JSONLexer(UnsafeBufferPointer(start: nil, count: 0))
        let isTaken = nothing.take(exactly: "n")
        #expect(!isTaken && nothing.isAtEnd)
        #expect(throws: JSONFault.self) { try Self.text("") }
        #expect(throws: JSONFault.self) { try Self.number("") }
    }

    @Test("a fault counts lines, and columns in bytes")
    func places() {
        Array("[\r\n\n \"é\" x".utf8).withUnsafeBufferPointer { bytes in
            var lexer = JSONLexer(bytes)
            #expect(lexer.fault("x") == JSONFault(reason: "x", line: 1, column: 1))
            _ = lexer.take(UInt8(ascii: "["))
            #expect(lexer.fault("x").message == "line 3, column 2: x")
            _ = try? lexer.text()
            lexer.skipSpace()
            #expect(lexer.fault("x").message == "line 3, column 7: x")
            _ = lexer.take(UInt8(ascii: "x"))
            #expect(lexer.fault("y").message == "line 3, column 8: the document ends too early; y")
        }
    }
}
