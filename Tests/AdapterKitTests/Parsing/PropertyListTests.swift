import AdapterKit
import Experimentation
import Foundation
import Testing

@Suite("Property lists")
struct PropertyListTests {
    private func xml(_ inner: String) -> [UInt8] { Array("<plist version=\"1.0\">\(inner)</plist>".utf8) }

    @Test("values are read by their types")
    func types() throws {
        let inner = """
            <dict><key>t</key><string>10</string><key>n</key><integer>10</integer><key>d</key><real>1.5</real>
            <key>f</key><true/><key>l</key><array><string>a</string><false/></array><key>g</key><dict/></dict>
            """
        let value = try PropertyList.parse(xml(inner), deepest: 3)
        #expect(value == ["t": "10", "n": 10, "d": 1.5, "f": true, "l": ["a", false], "g": [:]])
    }

    @Test("values nested deeper than requested are empty")
    func deep() throws {
        let bytes = xml("<array><array><array><string>a</string></array></array></array>")
        #expect(try PropertyList.parse(bytes, deepest: 2) == [[[[:]]]])
        #expect(try PropertyList.parse(bytes, deepest: 3) == [[["a"]]])
    }

    @Test(
        "unreadable input is an error",
        arguments: ["", "<plist", "<plist><dict><key>d</key><date>2026-11-21T10:00:00Z</date></dict></plist>", "{"]
    )
    func unreadable(text: String) {
        let error = #expect(throws: ExperimentationError.self) {
            _ = try PropertyList.parse(Array(text.utf8), deepest: 3)
        }
        #expect(error?.code == .parseError)
    }

    @Test("more values than any real file has are refused")
    func large() {
        let bytes = xml("<array>" + String(repeating: "<string>a</string>", count: 10_000) + "</array>")
        #expect(throws: ExperimentationError.self) { _ = try PropertyList.parse(bytes, deepest: 3) }
        let containers = xml("<array>" + String(repeating: "<array/>", count: 300) + "</array>")
        #expect(throws: ExperimentationError.self) { _ = try PropertyList.parse(containers, deepest: 3) }
    }
}
