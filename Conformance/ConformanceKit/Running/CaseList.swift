/// Cases by subject, in the format of a file: `lantern outages/poison-in-a-batch  # why`.
///
/// While an adapter is under construction, its failing cases are recorded, and skipped until they are fixed.
public struct CaseList: Sendable, Hashable {
    private var names: [String: Set<String>] = [:]

    /// Creates an empty list.
    public init() {}

    /// Parses a list of a subject and a case per line; ignores blank lines and anything after `#`.
    ///
    /// - Parameter text: The file's text.
    /// - Throws: ``DocumentError`` for a malformed line, or one that names an unknown case.
    public init(parsing text: String) throws(DocumentError) {
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map(String.init)
            guard !words.isEmpty else { continue }
            guard words.count == 2 else {
                throw DocumentError(
                    document: "list of cases",
                    path: "line \(index + 1)",
                    problem: "a subject and a case are expected"
                )
            }
            guard ConformanceCase.every.contains(where: { $0.name == words[1] }) else {
                throw DocumentError(
                    document: "list of cases",
                    path: "line \(index + 1)",
                    problem: "there is no case \"\(words[1])\""
                )
            }
            names[words[0], default: []].insert(words[1])
        }
    }

    /// Whether a case of a subject is listed.
    public func contains(_ name: String, of subject: String) -> Bool {
        names[Self.word(for: subject)]?.contains(name) ?? false
    }

    /// A subject's name as written in a list: one word, with `-` in place of white space and of `#`, which begins a
    /// comment.
    static func word(for subject: String) -> String {
        subject.replacing("#", with: "-").split(whereSeparator: \.isWhitespace).joined(separator: "-").onOneLine
    }

    /// The number of cases.
    public var count: Int { names.values.reduce(0) { $0 + $1.count } }
}

extension ConformanceReport {
    /// The failed and the skipped cases, in the format of ``CaseList``.
    public var record: String {
        subjects.flatMap { subject in
            let name = CaseList.word(for: subject.name)
            let failed = subject.results.filter(\.outcome.isFailure).map { result in
                "\(name) \(result.name)  # \((result.outcome.reason ?? result.outcome.word).onOneLine)\n"
            }
            return failed + subject.skipped.map { "\(name) \($0)\n" }
        }
        .joined()
    }
}
