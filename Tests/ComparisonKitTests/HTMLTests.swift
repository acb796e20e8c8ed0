import Foundation
import Testing

@testable import ComparisonKit

@Suite("The HTML page")
struct HTMLTests {
    static let page = ComparisonReport(
        MadeUp.comparison,
        swap: MadeUp.comparison.swap(from: "north", to: "south")
    )
    .text(as: .html)

    @Test("loads nothing and runs no script")
    func isSelfContained() {
        for word in ["<script", "<link", "<img", "<iframe", "url(", "@import", "http://", "https://", " on"] {
            if word == " on" {
                #expect(!Self.page.contains(/<[^>]*\son[a-z]+=/))
            } else {
                #expect(!Self.page.contains(word), "\(word)")
            }
        }
        #expect(Self.page.contains("default-src 'none'"))
    }

    @Test("external text never becomes markup")
    func escapes() {
        #expect(Self.page.contains("A shop &amp; its &lt;checkout&gt;"))
        #expect(Self.page.contains("Which &lt;colour&gt; has the checkout?"))
        #expect(Self.page.contains("/decide?mode=&lt;normal&gt;"))
        #expect(Self.page.contains("ada &amp; co"))
        #expect(!Self.page.contains("<colour>"))
    }

    @Test("all elements are closed in order, and ids are unique")
    func isWellFormed() throws {
        let outline = try Outline(Self.page)
        #expect(outline.problems == [])
        #expect(outline.ids.count == Set(outline.ids).count)
        #expect(Set(outline.targets).isSubset(of: Set(outline.ids)))
    }

    @Test("is accessible to screen readers and keyboards")
    func isAccessible() throws {
        #expect(Self.page.contains("<html lang=\"en\">"))
        #expect(Self.page.contains("<a class=\"skip\" href=\"#steps\">"))
        let outline = try Outline(Self.page)
        #expect(outline.count("h1") == 1)
        #expect(outline.count("table") == outline.count("caption"))
        let heads = Self.page.matches(of: /<th(?:\s[^>]*)?>/)
        #expect(!heads.isEmpty && heads.allSatisfy { $0.output.contains("scope=") })
        let pictures = Self.page.matches(of: /<svg\s[^>]*>/)
        #expect(!pictures.isEmpty && pictures.allSatisfy { $0.output.contains("aria-label=") })
        #expect(Self.page.matches(of: /<section [^>]*>/).allSatisfy { $0.output.contains("aria-labelledby=") })
        #expect(Self.page.contains("<label for=\"only\">"))
        #expect(Self.page.contains("prefers-color-scheme:dark") && Self.page.contains("@media print"))
        #expect(Self.page.contains("name=\"viewport\""))
    }

    @Test("all text has enough contrast, in light and dark", arguments: ["light", "dark"])
    func contrast(scheme: String) throws {
        let sheets = Self.page.matches(of: /:root\{([^}]*)\}/).map { String($0.output.1) }
        var colors: [String: String] = [:]
        for sheet in sheets.prefix(scheme == "light" ? 1 : 2) {
            for match in sheet.matches(of: /--([a-z0-9]+):\s*(#[0-9a-f]+)/) {
                colors[String(match.output.1)] = String(match.output.2)
            }
        }
        let pairs =
            [("warn", "warnbg"), ("bad", "badbg"), ("ink", "chip"), ("good", "card"), ("accent", "card")]
            + ["ink", "soft", "accent", "c0", "c1", "c2", "c3", "c4", "c5"].flatMap { [($0, "card"), ($0, "page")] }
        for (text, ground) in pairs {
            let one = try Self.luminance(#require(colors[text], "\(text)"))
            let other = try Self.luminance(#require(colors[ground], "\(ground)"))
            let ratio = (max(one, other) + 0.05) / (min(one, other) + 0.05)
            #expect(ratio >= 4.5, "\(text) on \(ground): \(ratio)")
        }
    }

    /// Returns a color's relative luminance, as defined by WCAG.
    private static func luminance(_ color: String) throws -> Double {
        var digits = Array(color.dropFirst())
        if digits.count == 3 { digits = digits.flatMap { [$0, $0] } }
        let parts = try stride(from: 0, to: 6, by: 2).map { index -> Double in
            let share = Double(try #require(Int(String(digits[index...(index + 1)]), radix: 16))) / 255
            return share <= 0.03928 ? share / 12.92 : Foundation.pow((share + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    }

    @Test("prints on white, as wide as its tables")
    func paper() {
        #expect(Self.page.contains("@media screen and (prefers-color-scheme:dark)"))
        #expect(Self.page.contains("@media screen and (max-width:760px)"))
        #expect(!Self.page.contains("@media (prefers-color-scheme") && !Self.page.contains("@media (max-width"))
    }

    @Test("differences are marked in words, not only by color")
    func marksDifferences() {
        let rows = Self.page.matches(of: /<tr class="(differs|same)" id="step-(\d+)">/)
        #expect(
            rows.map { "\($0.output.2) \($0.output.1)" } == ["1 same", "4 differs", "5 differs", "2 same", "3 same"]
        )
        #expect(Self.page.matches(of: /<span class="mark">differs<\/span>/).count == 2)
    }

    @Test("steps that at most one vendor supports are collapsed, but complete")
    func folds() throws {
        let fold = try #require(
            Self.page.firstMatch(of: /<details class="folded"><summary>(.*)<\/summary>([\s\S]*?)<\/details>/)
        )
        #expect(fold.output.1 == "2 steps that at most one of the vendors has")
        #expect(fold.output.2.matches(of: /id="step-(\d+)"/).map { String($0.output.1) } == ["2", "3"])
    }

    @Test("growth is drawn as one line for each vendor with the feature")
    func lines() {
        #expect(Self.page.matches(of: /<polyline points="[0-9., ]+"\/>/).count == 2)
    }

    @Test(
        "the median latency of the steps that sent something is one of theirs, by the nearest rank",
        arguments: [
            ([4.5], "4.50"), ([2.5, 4.5], "2.50"), ([1.5, 2.5, 4.5], "2.50"), ([1.5, 2.5, 3.5, 4.5], "2.50"),
        ]
    )
    func median(latencies: [Double], expected: String) {
        let story = VendorStory(
            name: "north",
            outcomes: latencies.enumerated().map { step, latency in
                StepOutcome(step: step, traffic: Traffic(requests: 1), latency: Latency(p50: latency))
            }
        )
        #expect(story.typicalLatency == expected)
    }

    @Test("exchanges can be expanded, and failed ones are marked")
    func showsTranscripts() {
        #expect(Self.page.matches(of: /<details class="exchange">/).count == 3)
        #expect(Self.page.contains("fault: status"))
        #expect(Self.page.contains("<span class=\"badge bad\">no answer</span>"))
    }
}

/// The elements of a page, checked for their nesting.
private struct Outline {
    private(set) var problems: [String] = []
    private(set) var ids: [String] = []
    private(set) var targets: [String] = []
    private var counts: [String: Int] = [:]

    func count(_ name: String) -> Int { counts[name, default: 0] }

    init(_ page: String) throws {
        let voids: Set = ["meta", "input", "br", "line", "rect"]
        var open: [String] = []
        let body = page.replacing(/<style>[\s\S]*?<\/style>/, with: "")
        for match in body.matches(of: /<(\/?)([a-z0-9]+)((?:[^>"]|"[^"]*")*)>/) {
            let name = String(match.output.2)
            let rest = String(match.output.3)
            if match.output.1 == "/" {
                if open.last == name { open.removeLast() } else { problems.append("</\(name)> in \(open)") }
                continue
            }
            counts[name, default: 0] += 1
            for id in rest.matches(of: /\sid="([^"]*)"/) { ids.append(String(id.output.1)) }
            for target in rest.matches(of: /href="#([^"]*)"/) { targets.append(String(target.output.1)) }
            for target in rest.matches(of: /\sfor="([^"]*)"/) { targets.append(String(target.output.1)) }
            for target in rest.matches(of: /aria-labelledby="([^"]*)"/) { targets.append(String(target.output.1)) }
            if !voids.contains(name), !rest.hasSuffix("/") { open.append(name) }
        }
        if !open.isEmpty { problems.append("never closed: \(open)") }
    }
}
