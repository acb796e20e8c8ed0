import Experimentation
import FlagManifest
import Foundation
import Testing

@Suite("A manifest of flags")
struct FlagManifestTests {
    static func read(_ text: String) throws -> FlagManifest {
        try FlagManifest(json: Array(text.utf8), file: "flags.json")
    }

    private static let theme = """
        {"flags": {"theme": {"flagType": "object", "defaultValue": {"color": "red"}, "schema": {
          "type": "object", "required": ["color"], "properties": {
            "color": {"type": "string"}, "size": {"type": "integer"}, "any": {},
            "list": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}}}}}}
        """

    @Test("is read with its types, by each of their names, sorted by key, ignoring unknown properties")
    func types() throws {
        let manifest = try Self.read(
            """
            {"$schema": "x", "extra": {"flags": {"no": 1}}, "flags": {
              "b": {"flagType": "Boolean", "defaultValue": true, "variants": {"on": true}},
              "a": {"flagType": "Number", "defaultValue": 3, "description": "how much"},
              "s": {"flagType": "string", "defaultValue": "x"}, "i": {"flagType": "integer", "defaultValue": 2.0},
              "o": {"flagType": "JSON", "defaultValue": [1, null]}
            }}
            """
        )
        #expect(
            manifest
                == FlagManifest([
                    .init("a", .float, default: 3, description: "how much", line: 3),
                    .init("b", .boolean, default: true, line: 2),
                    .init("i", .integer, default: 2.0, line: 4), .init("o", .object, default: [1, nil], line: 5),
                    .init("s", .string, default: "x", line: 4),
                ])
        )
    }

    @Test(
        "is rejected in one line, with the position",
        arguments: [
            (#"{"flags": {"a": "#, "flags.json:1: the document ends too early; expected a value"),
            ("", "flags.json:1: the document ends too early; expected a value"),
            ("[]", "flags.json:1: expected an object with \"flags\""),
            (#"{"flag": {}}"#, "flags.json:1: \"flags\": missing or not an object of flags by key"),
            (#"{"flags": []}"#, "flags.json:1: \"flags\": missing or not an object of flags by key"),
            ("{\"flags\": {\n\"a\": 1}}", "flags.json:2: flag \"a\": expected an object"),
            (
                "{\"flags\": {\n\n\"a\": {\"flagType\": \"text\", \"defaultValue\": 1}}}",
                "flags.json:3: flag \"a\": \"flagType\": expected one of boolean, string, integer, float, object"
            ),
            (
                #"{"flags": {"a": {"flagType": "boolean"}}}"#,
                "flags.json:1: flag \"a\": \"defaultValue\": missing"
            ),
            (
                #"{"flags": {"a": {"flagType": "integer", "defaultValue": 1.5}}}"#,
                "flags.json:1: flag \"a\": \"defaultValue\": isn't of type integer"
            ),
            (
                #"{"flags": {"a": {"flagType": "boolean", "defaultValue": "true"}}}"#,
                "flags.json:1: flag \"a\": \"defaultValue\": isn't of type boolean"
            ),
            (
                "{\"flags\": {\n\"a\": {\"flagType\": \"boolean\", \"defaultValue\": true},\n\"a\": {}}}",
                "flags.json:3: a name that appears twice in one object"
            ),
            (
                #"{"flags": {"": {"flagType": "boolean", "defaultValue": true}}}"#,
                "flags.json:1: a flag's key is empty"
            ),
            (
                #"{"flags": {"a": {"flagType": "object", "defaultValue": {"size": "big"}, "schema": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}"#,
                "flags.json:1: flag \"a\": \"defaultValue\".size: expected a whole number"
            ),
            (
                #"{"flags": {"a": {"flagType": "object", "defaultValue": {}, "schema": {"type": "thing"}}}}"#,
                "flags.json:1: flag \"a\": \"schema\".type: expected one of boolean, string, integer, number, array, object"
            ),
        ]
    )
    func refused(text: String, message: String) {
        #expect { try Self.read(text) } throws: { error in
            let error = error as? ExperimentationError
            #expect(error?.message == message)
            return error?.code == .configuration
        }
    }

    @Test("is compared with another one")
    func changes() throws {
        let before = FlagManifest([
            .init("same", .boolean, default: true, line: 2), .init("gone", .string, default: "x"),
            .init("other", .integer, default: 1),
        ])
        let after = FlagManifest([
            .init("same", .boolean, default: true, line: 9), .init("new", .float, default: 1.5),
            .init("other", .integer, default: 2),
        ])
        #expect(before.changes(to: after).map { "\($0.kind) \($0.key)" } == ["remove gone", "add new", "change other"])
        #expect(before.changes(to: before) == [])
    }

    @Test("is read again as it was written, with its schemas")
    func written() throws {
        let manifest = try Self.read(
            """
            {"flags": {
              "a": {"flagType": "float", "defaultValue": 1.5, "description": "how much"},
              "b": {"flagType": "object", "defaultValue": {}, "schema": {"type": "object", "properties": {}}},
              "c": {"flagType": "object", "defaultValue": [[1]], "schema": {"type": "array", "items": {"type": "array"}}},
              "d": {"flagType": "object", "defaultValue": 1, "schema": {}},
              "e": {"flagType": "object", "defaultValue": {"a": true, "c": [2.5]}, "schema": {
                "type": "object", "required": ["c", "a"], "properties": {
                  "a": {"type": "boolean"}, "b": {"type": "string"}, "d": {"type": "object"},
                  "c": {"type": "array", "items": {"type": "number"}},
                  "e": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}}}}
            }}
            """
        )
        let again = try FlagManifest(json: Array(JSONEncoder().encode(manifest.json)), file: "again.json")
        let lines = Dictionary(uniqueKeysWithValues: manifest.flags.map { ($0.key, $0.line) })
        let flags = again.flags.map { flag in
            var flag = flag
            flag.line = lines[flag.key] ?? 0
            return flag
        }
        #expect(FlagManifest(flags) == manifest)
        #expect(manifest.changes(to: again) == [])
    }

    @Test("a change names the properties that differ")
    func properties() throws {
        var flag = try #require(try Self.read(Self.theme)["theme"])
        let before = FlagManifest([flag])
        flag.shape = nil
        let after = FlagManifest([flag])
        flag.description = "The page's."
        flag.defaultValue = ["color": "blue"]
        #expect(before.changes(to: after).map(\.properties) == [["schema"]])
        #expect(after.changes(to: FlagManifest([flag])).map(\.properties) == [["defaultValue", "description"]])
        #expect(FlagManifest([]).changes(to: after).map(\.properties) == [[]])
    }

    @Test("is compared with what a vendor publishes")
    func findings() {
        let manifest = FlagManifest([
            .init("fits", .integer, default: 1), .init("lost", .boolean, default: true),
            .init("typed", .string, default: "x"), .init("default", .string, default: "red"),
            .init("blank", .string, default: "x"),
        ])
        let published = PublishedFlags([
            "fits": [2, 1.0], "typed": ["y", 3], "default": ["blue", "green"], "blank": [], "more": [true],
        ])
        #expect(
            manifest.findings(against: published).map { "\($0.key) \($0.kind.rawValue): \($0.detail)" } == [
                "default default: the default is none of the vendor's 2 values",
                "lost missing: the vendor has no such flag", "more stale: the manifest doesn't have it",
                "typed type: string here, integer there",
            ]
        )
        #expect(
            published.manifest
                == FlagManifest([
                    .init("blank", .object, default: nil), .init("default", .string, default: "blue"),
                    .init("fits", .float, default: 2), .init("more", .boolean, default: true),
                    .init("typed", .object, default: "y"),
                ])
        )
    }

    @Test(
        "a vendor's object agrees if the schema's structure can be decoded from it",
        arguments: [
            (["color": "red"], nil), (["color": "red", "size": nil, "more": [1]], nil),
            (["color": "red", "list": [["id": 1, "more": 2]]], nil),
            (["color": 5], "value.color: expected a text"), (["size": 1], "value.color: missing"),
            (["color": "red", "size": 1.5], "value.size: expected a whole number"),
            (["color": "red", "list": [["id": "x"]]], "value.list[0].id: expected a whole number"),
            ([1, 2], "value: expected an object"), ("red", "value: expected an object"),
        ] as [(FlagValue, String?)]
    )
    func schema(value: FlagValue, detail: String?) throws {
        let manifest = try Self.read(Self.theme)
        let findings = manifest.findings(against: PublishedFlags(["theme": [["color": "red"], value]]))
        #expect(findings.map { "\($0.kind.rawValue): \($0.detail)" } == (detail.map { ["type: \($0)"] } ?? []))
    }
}
