import Experimentation
import Foundation
import Testing

@Suite("Values convert only without loss")
struct FlagValueTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var value: FlagValue
        var bool: Bool?
        var int: Int?
        var double: Double?
        var string: String?
        var testDescription: String { value.description }
    }

    static let table: [Row] = [
        Row(value: true, bool: true),
        Row(value: false, bool: false),
        Row(value: 0, int: 0, double: 0),
        Row(value: 1, int: 1, double: 1),
        Row(value: 1.0, int: 1, double: 1),
        Row(value: 1.5, double: 1.5),
        Row(value: .double(-0.0), int: 0, double: -0.0),
        Row(value: .int(1 << 53), int: 1 << 53, double: 9_007_199_254_740_992),
        Row(value: .int(1 << 53 + 1), int: 1 << 53 + 1),
        Row(value: .int(.max), int: .max),
        Row(value: .double(9.223372036854775807e18), double: 9.223372036854775807e18),
        Row(value: .double(1e308), double: 1e308),
        Row(value: .double(.infinity), double: .infinity),
        Row(value: "1", string: "1"),
        Row(value: "true", string: "true"),
        Row(value: nil),
        Row(value: [1, 2]),
        Row(value: ["a": 1]),
    ]

    @Test("each value reads as the types that can hold it", arguments: table)
    func conversions(row: Row) {
        #expect(row.value.boolValue == row.bool)
        #expect(row.value.intValue == row.int)
        #expect(row.value.doubleValue == row.double)
        #expect(row.value.stringValue == row.string)
    }

    @Test(
        "JSON is read and written unchanged",
        arguments: [
            #"null"#, #"true"#, #"1"#, #"1.5"#, #""a""#, #"[1,"b",null]"#, #"{"a":{"b":[true]}}"#,
        ]
    )
    func roundTrip(text: String) throws {
        let value = try JSONDecoder().decode(FlagValue.self, from: Data(text.utf8))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(value), as: UTF8.self) == text)
    }

    @Test("a value nested ten thousand times is measured without a crash")
    func depth() {
        var value: FlagValue = 1
        for _ in 0..<10_000 { value = [value] }
        #expect(value.depth(upTo: 16) == 17)
        #expect(FlagValue.array([["a": [1]]]).depth(upTo: 16) == 3)
        #expect(FlagValue.int(1).depth(upTo: 16) == 0)
    }
}
