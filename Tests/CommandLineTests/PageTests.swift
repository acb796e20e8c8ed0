import Foundation
import Testing

@Suite("The comparison page in a real browser", .enabled(if: Browser.isThere, "no headless Chromium is installed"))
struct PageTests {
    @Test("renders in wide and narrow windows")
    func screenshots() async throws {
        let browser = try await Browser()
        for (name, width) in [("wide", 1280), ("phone", 500)] {
            let picture = browser.folder.appending(path: "\(name).png")
            try await browser.run(["--screenshot=\(picture.path)", "--window-size=\(width),1600"], on: browser.page)
            // An empty page of this size takes about six kilobytes.
            let size = try Data(contentsOf: picture).count
            #expect(size > 40_000, "\(name): \(size) bytes")
        }
    }

    @Test("on a phone, only tables and charts are wider than the screen")
    func fitsAPhone() async throws {
        let browser = try await Browser()
        // A browser's window can't be as narrow as a phone's, but a frame can. The page has no script, so a copy gets
        // one.
        let probe = """
            <script>onload=()=>parent.postMessage(document.documentElement.scrollWidth+" of "+innerWidth,"*")</script></body>
            """
        let page = try String(contentsOf: browser.page, encoding: .utf8)
            .replacing(/<meta http-equiv="Content-Security-Policy"[^>]*>/, with: "").replacing("</body>", with: probe)
        let frame = """
            <body><script>addEventListener("message",e=>document.title=e.data)</script>
            <iframe src="copy.html" style="width:390px;height:800px;border:0"></iframe>
            """
        try Data(page.utf8).write(to: browser.folder.appending(path: "copy.html"))
        let framed = browser.folder.appending(path: "frame.html")
        try Data(frame.utf8).write(to: framed)
        let document = try await browser.run(
            ["--dump-dom", "--virtual-time-budget=3000", "--allow-file-access-from-files"],
            on: framed
        )
        let widths = try #require(document.firstMatch(of: /<title>([0-9]+) of ([0-9]+)<\/title>/), "\(document)")
        #expect(try #require(Int(widths.output.1)) <= #require(Int(widths.output.2)))
    }

    @Test("in print, it keeps its columns and takes a few pages")
    func prints() async throws {
        let browser = try await Browser()
        let paper = browser.folder.appending(path: "page.pdf")
        try await browser.run(["--print-to-pdf=\(paper.path)", "--no-pdf-header-footer"], on: browser.page)
        let text = String(decoding: try Data(contentsOf: paper), as: UTF8.self)
        let pages = text.matches(of: /\/Type ?\/Page\b/).count
        #expect((1...10).contains(pages), "\(pages) pages")
    }
}

/// A headless Chromium and a comparison page.
final class Browser: Sendable {
    private static let executable: URL? = ["chromium", "chromium-browser", "google-chrome"]
        .map { "/usr/bin/\($0)" }.first(where: FileManager.default.isExecutableFile).map { URL(filePath: $0) }

    static var isThere: Bool { executable != nil }

    let folder: URL
    let page: URL

    init() async throws {
        folder = try Tool.folder()
        page = folder.appending(path: "page.html")
        let result = try await Tool.run(["compare", "--rounds", "1", "--format", "html", "--output", page.path])
        #expect(result.status == 0, "\(result.errors)")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Opens a page in the browser and returns its output.
    @discardableResult
    func run(_ arguments: [String], on page: URL) async throws -> String {
        let running = try Running(
            ["--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(folder.path)/profile"] + arguments
                + [page.absoluteString],
            executable: #require(Self.executable)
        )
        return try await running.result().output
    }
}
