import Foundation
import Testing

/// Checks that the tests named by migration pages exist.
@Suite("Migration pages", .readsThePackage)
struct MigrationPageTests {
    /// A row of a page's table, with the names in its last column.
    struct Row: Sendable {
        let line: Int
        let cells: [String]
        let tests: String
    }

    /// The names of all tests.
    static let names: Set<String> = {
        let pattern = /@Test\(\s*"((?:[^"\\]|\\.)*)"/
        return Set(
            Tree.files(in: "Tests").flatMap { source in
                source.text.matches(of: pattern).map { String($0.output.1).replacing("\\\"", with: "\"") }
            }
        )
    }()

    /// The numbers of cases in the names of tests, such as `V07`.
    static let numbers: Set<String> = Set(names.flatMap { $0.matches(of: /\b[A-Z]\d\d\b/).map { String($0.output) } })

    /// The rows of all tables of a page with a column for tests.
    static func rows(of vendor: String) throws -> [Row] {
        let page = try #require(Tree.text(of: "docs/migrating-from-\(vendor.lowercased()).md"))
        var rows: [Row] = []
        var head: [String]?
        for (number, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard line.hasPrefix("|") else {
                head = nil
                continue
            }
            let cells = line.replacing("\\|", with: "\u{0}").split(separator: "|", omittingEmptySubsequences: false)
                .dropFirst().dropLast().map { $0.trimmingCharacters(in: .whitespaces) }
            guard head != nil else {
                head = cells
                continue
            }
            guard head?.last == "Test", !line.allSatisfy({ "|-: ".contains($0) }) else { continue }
            rows.append(Row(line: number + 1, cells: Array(cells.dropLast()), tests: cells.last ?? ""))
        }
        return rows
    }

    /// The names in a row that don't exist.
    static func missing(in row: Row) -> [String] {
        if row.tests == "–" { return [] }
        var rest = row.tests
        var missing: [String] = []
        for name in rest.matches(of: /\*([^*]+)\*/).map({ String($0.output.1) }) where !isTest(name) {
            missing.append(name)
        }
        rest.replace(/\*[^*]+\*/, with: "")
        for range in rest.matches(of: /\b([A-Z])(\d\d)–[A-Z]?(\d\d)\b/) {
            let bounds = (Int(range.output.2) ?? 0, Int(range.output.3) ?? 0)
            guard bounds.0 < bounds.1 else {
                missing.append(String(range.output.0))
                continue
            }
            let cases = (bounds.0...bounds.1).map { "\(range.output.1)\($0 < 10 ? "0" : "")\($0)" }
            missing += cases.filter { !numbers.contains($0) }
        }
        rest.replace(/\b[A-Z]\d\d–[A-Z]?\d\d\b/, with: "")
        missing += rest.matches(of: /\b[A-Z]\d\d\b/).map { String($0.output) }.filter { !numbers.contains($0) }
        rest.replace(/\b[A-Z]\d\d\b/, with: "")
        // The rest are unquoted names, or a reference to the row above.
        rest.replace(/^\s*the same\b/, with: "")
        let plain = rest.trimmingCharacters(in: CharacterSet(charactersIn: " ,;"))
        if !plain.isEmpty, !isTest(plain) {
            missing += plain.split(separator: ", ").map(String.init).filter { !isTest($0) }
        }
        return missing
    }

    /// Whether a test has this name, or begins with it if it ends in an ellipsis.
    static func isTest(_ name: String) -> Bool {
        guard name.hasSuffix("…") else { return names.contains(name) }
        let beginning = name.dropLast().trimmingCharacters(in: CharacterSet(charactersIn: " ,"))
        return names.contains { $0.hasPrefix(beginning) }
    }

    @Test("every test that a migration page names exists", arguments: Tree.vendors)
    func testsExist(vendor: String) throws {
        let rows = try Self.rows(of: vendor)
        #expect(rows.count > 20)
        #expect(rows.flatMap { row in Self.missing(in: row).map { "line \(row.line): \($0)" } } == [])
    }

    @Test("every row of a migration page names a test, unless there is nothing to test", arguments: Tree.vendors)
    func rowsHaveTests(vendor: String) throws {
        let untested = try Self.rows(of: vendor)
            .filter { ["", "–"].contains($0.tests) && !($0.cells.dropFirst().first ?? "").hasPrefix("nothing") }
        #expect(untested.map { "line \($0.line): \($0.cells.first ?? "")" } == [])
    }

    @Test("the check detects a missing test, a missing number and a range that ends in one")
    func wouldBeFound() {
        for tests in ["*no such test*", "Z99", "V97–V99", "E01, no such test", "V98–V97"] {
            #expect(!Self.missing(in: Row(line: 1, cells: ["a", "b"], tests: tests)).isEmpty, "\(tests)")
        }
        let good = "V01, V89–V98, *would it be found? …*"
        #expect(Self.missing(in: Row(line: 1, cells: [], tests: good)) == ["would it be found? …"])
        #expect(Self.missing(in: Row(line: 1, cells: [], tests: "the same, V01")) == [])
    }
}
