import Testing

/// The pages of the reference group every public type of the core: an application's, an adapter author's, a store author's.
@Suite("Reference")
struct ReferenceTests {
    @Test("every public type of the core stands on one page of the reference, and none that isn't there")
    func everyTypeHasItsPlace() {
        let pages = ["Experimentation", "Providers", "Stores"]
        let listed = pages.flatMap { page in
            (Tree.text(of: "docs/reference.docc/\(page).md") ?? "").split(separator: "\n")
                .filter { $0.hasPrefix("- ``") }
                .map { String($0.dropFirst(4).dropLast(2)) }
        }
        #expect(Set(listed).count == listed.count)
        #expect(Set(listed).symmetricDifference(publicTypes).sorted() == [])
    }

    @Test("what writes events down is the package's own: nobody outside needs it, and its form may change")
    func codecsAreInternal() {
        #expect(publicTypes.filter { $0.hasSuffix("Coding") || $0.hasSuffix("Writer") || $0.hasSuffix("Reader") } == [])
    }

    private var publicTypes: [String] {
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "actor", "typealias"]
        return Tree.files(in: "Sources/Experimentation").flatMap { source in
            source.code.split(separator: "\n").compactMap { line -> String? in
                guard line.hasPrefix("public ") else { return nil }
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                guard let kind = words.firstIndex(where: { kinds.contains($0) }), kind + 1 < words.count else {
                    return nil
                }
                return String(words[kind + 1])
            }
        }
    }
}
