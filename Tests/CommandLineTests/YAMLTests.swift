import Foundation
import Testing

@Suite("YAML files")
struct YAMLTests {
    private static let nested = String(repeating: "[", count: 65) + "x" + String(repeating: "]", count: 65)

    /// Returns the complaint about a scenario, without the file's name.
    private func complaint(about text: String) async throws -> String {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = try Tool.file(text, "x.yaml", in: folder)
        let result = try await Tool.run(["compare", "--scenario", path])
        #expect(result.status == 66)
        return result.complaint.replacing("xp: \(path):", with: "")
    }

    @Test(
        "brackets in quoted texts and comments aren't nesting",
        arguments: [
            #"- "a [ b""#, "- 'it''s [ b'", #"- "\"[" # [ {"#, #"- {"k[": "{", 'a': ["[", "[["]}"#, "# {[\n- it's",
        ]
    )
    func texts(line: String) async throws {
        let complaint = try await complaint(about: String(repeating: line + "\n", count: 70))
        #expect(complaint.hasSuffix("expected an object, found a list"))
    }

    @Test(
        "real nesting is refused before it is parsed, whatever text comes before it",
        arguments: [
            ("name: it's\nsteps: \(nested)", 2), ("say \"x: \(nested) \" z", 1), ("- \"a\n  \", \(nested) \"b\"", 2),
            ("a: |\n  b: '\nc: \(nested) # '", 3), ("a: x\n  [ y\nb, \"c: \(nested) \" z", 3),
            ("{ k: \"a\n b: \", c: \(nested), d: \"\" }", 2), ("&a \(nested)", 1), ("[a#\(nested)]", 1),
            ("- [\"[\"]\n- \(nested)", 2),
        ]
    )
    func nesting(text: String, line: Int) async throws {
        #expect(try await complaint(about: text) == "\(line): is nested more than 64 levels deep")
    }
}
