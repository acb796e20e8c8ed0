import Experimentation
import Foundation
import Testing

@Suite("Untyped values")
struct FlagValueAnyTests {
    @Test("an untyped dictionary survives a round trip through a value")
    func roundTrip() throws {
        let any: [String: Any] = [
            "bool": true, "int": 1, "zero": 0, "double": 2.5, "float": Float(0.5), "text": "a", "null": NSNull(),
            "list": [1, "b", false] as [Any], "object": ["deep": [1.5]] as [String: Any], "unsigned": UInt8(7),
            "large": UInt64.max,
        ]
        let value: FlagValue = [
            "bool": true, "int": 1, "zero": 0, "double": 2.5, "float": 0.5, "text": "a", "null": nil,
            "list": [1, "b", false], "object": ["deep": [1.5]], "unsigned": 7, "large": .double(Double(UInt64.max)),
        ]
        #expect(try FlagValue(any: any) == value)
        let back = try #require(value.any as? [String: Any])
        #expect(try FlagValue(any: back) == value)
        #expect(back["bool"] as? Bool == true && back["int"] as? Int == 1 && back["text"] as? String == "a")
        #expect((back["object"] as? [String: Any])?["deep"] as? [Double] == [1.5])
        #expect(try Attributes(any: ["a": 1]).any["a"] as? Int == 1)
    }

    @Test("boxed Booleans and boxed numbers, as a JSON parser creates them, keep their types")
    func boxed() throws {
        let parsed = try JSONSerialization.jsonObject(with: Data(#"{"a":true,"b":1,"c":0,"d":1.5,"e":false}"#.utf8))
        #expect(try FlagValue(any: parsed) == ["a": true, "b": 1, "c": 0, "d": 1.5, "e": false])
        let boxes: [String: Any] = ["a": NSNumber(value: true), "b": NSNumber(value: 1), "c": NSNumber(value: 0.5)]
        #expect(try FlagValue(any: boxes) == ["a": true, "b": 1, "c": 0.5])
    }

    @Test("a boxed decimal number keeps its digits", arguments: ["19.99", "-19.99", "0.07", "1999", "1e-7"])
    func decimal(digits: String) throws {
        let value = try FlagValue(any: NSDecimalNumber(string: digits))
        #expect(value.doubleValue == Double(digits))
    }

    @Test("every representable part of a notification is converted, however deep the rest is nested")
    func userInfo() {
        let carried: [AnyHashable: Any] = [
            "aps": ["alert": "Hi", "at": Date(timeIntervalSince1970: 0), "badge": 1] as [String: Any], 7: "no text",
            "list": [1, Data([1]), "b"] as [Any],
            "deep": [AnyHashable("a"): [AnyHashable(1): 1, AnyHashable("b"): true]],
            "when": Date(timeIntervalSince1970: 0),
        ]
        #expect(
            [String: FlagValue](userInfo: carried) == [
                "aps": ["alert": "Hi", "badge": 1], "list": [1, "b"], "deep": ["a": ["b": true]],
            ]
        )
    }

    @Test("a value that can't be represented is rejected with its type, without its content")
    func refused() {
        #expect(
            throws: ExperimentationError(.invalidArgument, "A value of the type Date has no form here.")
        ) { try FlagValue(any: ["when": Date(timeIntervalSince1970: 0)]) }
    }
}
