import Testing

/// `--help` wraps lines of 80 columns and more: prose may wrap, but an example or a table can't be read or copied then.
@Suite("Help pages", .readsThePackage)
struct HelpPageTests {
    @Test("no example or table is wider than the page")
    func width() {
        var examples = 0
        var found: [String] = []
        for source in Tree.files(in: "Sources/xp") {
            let lines = source.text.split(separator: "\n", omittingEmptySubsequences: false)
            var page: [(number: Int, text: Substring)]?
            for (index, line) in lines.enumerated() {
                if line.hasSuffix(#"discussion: """"#) {
                    page = []
                } else if let texts = page, let end = line.firstRange(of: #"""""#) {
                    let margin = line.distance(from: line.startIndex, to: end.lowerBound)
                    for (number, text) in texts where text.dropFirst(margin).hasPrefix("  ") {
                        examples += 1
                        if text.count - margin >= 80 { found.append("\(source.path):\(number)") }
                    }
                    page = nil
                } else {
                    page?.append((index + 1, line))
                }
            }
        }
        #expect(found == [])
        #expect(examples > 50)
    }
}
