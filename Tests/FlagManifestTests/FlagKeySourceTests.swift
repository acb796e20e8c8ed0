import ChildProcesses
import Experimentation
import FlagManifest
import Foundation
import Testing

@Suite("A manifest is translated to Swift")
struct FlagKeySourceTests {
    static let shop = """
        {"flags": {
          "checkout-color": {"flagType": "string", "defaultValue": "red \\"or\\"\\n so", "description": "The button's.\\nNot the page's."},
          "btnSize": {"flagType": "integer", "defaultValue": -16},
          "NEW_CHECKOUT": {"flagType": "boolean", "defaultValue": false},
          "2fa.required": {"flagType": "boolean", "defaultValue": true},
          "class": {"flagType": "float", "defaultValue": 1e-7},
          "self": {"flagType": "boolean", "defaultValue": true},
          "🎉": {"flagType": "boolean", "defaultValue": true},
          "größe": {"flagType": "integer", "defaultValue": 1},
          "anything": {"flagType": "object", "defaultValue": {"a": [1, 2.5, null, "x"], "b": {}}},
          "theme": {"flagType": "object", "defaultValue": {"color": "red", "margins": {"top": 1.5}, "steps": [{"id": 1}], "in": null},
            "schema": {"type": "object", "required": ["color", "steps"], "properties": {
              "color": {"type": "string"}, "margins": {"type": "object", "properties": {"top": {"type": "number"}}},
              "steps": {"type": "array", "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}},
              "in": {"type": "boolean"}}}}
        }}
        """

    private static func source(_ text: String) throws -> String {
        try FlagKeySource.text(of: FlagManifestTests.read(text), file: "flags.json")
    }

    @Test(
        "the output doesn't depend on the order of flags, with a constant for each flag and a structure for each schema"
    )
    func golden() throws {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/Flags.swift.txt")
        #expect(try Self.source(Self.shop) == String(contentsOf: golden, encoding: .utf8))
    }

    @Test(
        "keys become Swift names",
        arguments: [
            ("btnColor", "btnColor"), ("URLPath", "urlPath"), ("BETA", "beta"),
            ("checkout_v2-new.flow", "checkoutV2NewFlow"),
            ("ÄPFEL", "äpfel"), ("a/b", "aB"), ("é", "é"), ("--", "u2D_2D"), ("init", "init_"), ("in", "`in`"),
            ("$x", "x"),
            (String(repeating: "k", count: 10_000), String(repeating: "k", count: 80) + "_82c537442cda8b75"),
        ]
    )
    func names(key: String, name: String) throws {
        let manifest = FlagManifest([.init(key, .boolean, default: true)])
        let source = try FlagKeySource.text(of: manifest, file: "flags.json")
        #expect(source.contains("static let \(name) = FlagKey<Bool>("), "\(source.prefix(400))")
    }

    @Test("two keys with the same Swift name are rejected, with both lines")
    func collision() throws {
        #expect {
            try Self.source(
                """
                {"flags": {
                "new-shop": {"flagType": "boolean", "defaultValue": true},
                "newShop": {"flagType": "boolean", "defaultValue": true}}}
                """
            )
        } throws: { error in
            (error as? ExperimentationError)?.message
                == "flags.json:3: the keys \"new-shop\" (line 2) and \"newShop\" (line 3) are both newShop in Swift; rename one"
        }
    }

    @Test("a property named by a word of Swift compiles without a warning, and so does its default")
    func words() async throws {
        let words = [
            "await", "as", "class", "for", "inout", "is", "let", "nil", "protocol", "repeat", "super", "throw",
            "throws", "try", "var",
        ]
        let shapes = words.map { "\"\($0)\": {\"type\": \"string\"}" }.joined(separator: ", ")
        let values = words.map { "\"\($0)\": \"x\"" }.joined(separator: ", ")
        let source = try Self.source(
            """
            {"flags": {"words": {"flagType": "object", "defaultValue": {\(values)},
              "schema": {"type": "object", "properties": {\(shapes)}}}}}
            """
        )
        try await Compiler.expectCompiles(source)
    }

    @Test("a property named by a requirement of the structure's protocols can be read, and keeps its key")
    func requirements() async throws {
        let source = try Self.source(
            """
            {"flags": {"names": {"flagType": "object", "defaultValue": {"hashValue": 1}, "schema": {"type": "object",
              "required": ["hashValue"], "properties": {"hashValue": {"type": "integer"}, "hash": {"type": "string"},
                "description": {"type": "string"}, "encode": {"type": "string"}, "from": {"type": "string"},
                "rawValue": {"type": "string"}, "stringValue": {"type": "string"}, "self": {"type": "string"}}}},
              "hashValue": {"flagType": "boolean", "defaultValue": true}}}
            """
        )
        #expect(source.contains(#"case hashValue_ = "hashValue""#))
        try await Compiler.expectCompiles(
            source + """

                func read(_ session: UserSession) -> Bool {
                    let names = session[Flags.names]
                    let hash = names.hashValue_
                    let others = [
                        names.hash, names.description, names.encode, names.from, names.rawValue, names.stringValue, names.self_,
                    ]
                    return session[Flags.hashValue] && hash == 1 && others == []
                }
                """
        )
    }

    @Test("text can't escape from its literal or comment")
    func escapes() async throws {
        let hostile = "\"); fatalError() //\r\n*/ \u{202E}\u{0}\\(1)"
        let manifest = FlagManifest([.init(hostile, .string, default: .string(hostile), description: hostile)])
        let source = try FlagKeySource.text(of: manifest, file: hostile)
        let lines = source.split(separator: "\n")
        #expect(lines.filter { $0.contains("fatalError") }.allSatisfy { $0.contains("//") })
        #expect(source.contains(#"FlagKey<String>("\"); fatalError() //\u{D}\n*/ \u{202E}\u{0}\\(1)""#))
        #expect(!source.unicodeScalars.contains("\u{202E}"))
        try await Compiler.expectCompiles(source)
    }

    @Test("the output compiles, and is read with the right types")
    func compiles() async throws {
        try await Compiler.expectCompiles(
            Self.source(Self.shop) + """

                func read(_ session: UserSession) -> (String, Int, Bool, Double, FlagValue, Flags.Theme, String) {
                    (
                        session[Flags.checkoutColor], session[Flags.btnSize], session[Flags.newCheckout], session[Flags.`class`],
                        session[Flags.anything], session[Flags.theme], session[Flags.theme].color
                    )
                }
                """
        )
    }

    /// A manifest with a schema for each key: an object with one property, which is an object as well.
    private static func objects(_ flags: [(key: String, property: String)]) -> String {
        let entries = flags.map { flag in
            """
            "\(flag.key)": {"flagType": "object", "defaultValue": {"\(flag.property)": {"color": "red"}},
              "schema": {"type": "object", "properties": {"\(flag.property)": {
                "type": "object", "properties": {"color": {"type": "string"}}}}}}
            """
        }
        return "{\"flags\": {\(entries.joined(separator: ",\n"))}}"
    }

    @Test(
        "no structure has a name that the generated code uses in another meaning, or that no type can have",
        arguments: [
            (
                [
                    "any", "type", "protocol", "self", "string", "bool", "int", "double", "flag-value", "flag-key",
                    "codable", "hashable", "sendable", "coding-key", "coding-keys",
                ]
                .map { ($0, "inner") },
                [
                    "FlagAny", "FlagType", "FlagProtocol", "FlagSelf", "FlagString", "FlagBool", "FlagInt",
                    "FlagDouble", "FlagFlagValue", "FlagFlagKey", "FlagCodable", "FlagHashable", "FlagSendable",
                    "FlagCodingKey", "FlagCodingKeys",
                ]
                .flatMap { [$0, $0 + "Inner"] }
            ),
            (
                [("coding", "keys"), ("flag", "value"), ("theme", "type")],
                ["Coding", "FlagCodingKeys", "Flag", "FlagFlagValue", "Theme", "ThemeType"]
            ),
            // A letter without case can't be capitalized.
            (
                [("テーマ", "色"), ("عرض", "size"), ("ªb", "c")],
                ["Flagテーマ", "Flagテーマ色", "Flagعرض", "FlagعرضSize", "Flagªb", "FlagªbC"]
            ),
        ] as [([(String, String)], [String])]
    )
    func takenTypes(flags: [(String, String)], names: [String]) async throws {
        let source = try Self.source(Self.objects(flags))
        let declared = source.matches(of: /struct (\w+):/).map { String($0.1) }
        #expect(declared.sorted() == names.sorted())
        try await Compiler.expectCompiles(source)
    }

    @Test(
        "a flag whose structure would be named like another one's is rejected, with both lines",
        arguments: [("string", "flag-string", "FlagString"), ("flag-type", "type", "FlagType")]
    )
    func takenTypesCollide(one: String, other: String, name: String) {
        #expect { try Self.source(Self.objects([(one, "a"), (other, "a")])) } throws: { error in
            (error as? ExperimentationError)?.message.hasSuffix("are both \(name) in Swift; rename one") == true
        }
    }

    @Test(
        "the enclosing type has a name that compiles",
        arguments: [
            ("Flags", true), ("shopFlags_2", true), ("Größe", true), ("", false), ("2a", false), ("a b", false),
            ("class", false), ("Any", false), ("Self", false), ("Type", false), ("String", false), ("FlagKey", false),
            ("Codable", false), ("await", false), ("a.b", false), ("init", false), ("self", false), ("Protocol", false),
        ]
    )
    func enclosing(name: String, isAccepted: Bool) {
        #expect(FlagKeySource.accepts(name: name) == isAccepted)
    }

    @Test(
        "a misspelt key and a wrong type don't compile",
        arguments: [
            ("let value: Bool = session[Flags.checkoutColour]", "has no member 'checkoutColour'"),
            ("let value: Bool = session[Flags.checkoutColor]", "to expected argument type 'FlagKey<Bool>'"),
            ("let value: String = session[Flags.theme].size", "has no member 'size'"),
        ]
    )
    func refused(line: String, complaint: String) async throws {
        let complaints = try await Compiler.complaints(
            of: Self.source(Self.shop) + "\nfunc read(_ session: UserSession) {\n    \(line)\n    _ = value\n}\n"
        )
        #expect(complaints.contains(complaint), "\(complaints)")
    }

    @Test("a thousand flags are a thousand constants")
    func many() throws {
        let manifest = FlagManifest((0..<1_000).map { .init("flag-\($0)", .integer, default: .int($0)) })
        let source = try FlagKeySource.text(of: manifest, file: "flags.json")
        #expect(source.count(of: "static let ") == 1_000)
    }
}

extension String {
    fileprivate func count(of part: String) -> Int { components(separatedBy: part).count - 1 }
}

/// The compiler, with the library built next to the tests.
enum Compiler {
    /// The folder of built modules.
    private static let modules: URL = {
        let places = [
            URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent(), Bundle.main.bundleURL,
            URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../.build/debug"),
        ]
        .map { $0.appending(path: "Modules").standardizedFileURL }
        let found = places.first {
            FileManager.default.fileExists(atPath: $0.appending(path: "Experimentation.swiftmodule").path)
        }
        return found ?? places[0]
    }()

    static func expectCompiles(_ source: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        #expect(try await complaints(of: source) == "", sourceLocation: sourceLocation)
    }

    /// Returns the compiler's errors and warnings for a source; empty if it compiles without any.
    static func complaints(of source: String) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "Flags.swift")
        try Data(source.utf8).write(to: file)
        let process = try ChildProcess(
            URL(filePath: "/usr/bin/env"),
            [
                "swiftc", "-typecheck", "-warnings-as-errors", "-parse-as-library", "-swift-version", "6", "-I",
                modules.path, file.path,
            ]
        )
        let status = await process.status()
        await process.errors.untilEnd()
        return status == 0 ? "" : process.errors.text + "\nstatus \(status)"
    }
}
