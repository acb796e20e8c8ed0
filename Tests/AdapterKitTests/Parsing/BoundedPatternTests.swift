import AdapterKit
import Experimentation
import Testing

@Suite("Bounded patterns")
struct BoundedPatternTests {
    @Test(
        "patterns match as in a backtracking engine",
        arguments: [
            ("[0-9]", "a5b6", 2), ("a*", "aab", 3), ("a|ab", "ab", 1), ("^\\d{3}$", "123", 1), ("^\\d{3}$", "1234", 0),
            ("(foo|bar)+", "foobar foo", 2), ("\\bword\\b", "a word, sword", 1), ("[^a-c]+?", "xyz", 3), (".", "\n", 0),
            ("[\\w.-]+@[a-z]+\\.[a-z]{2,}", "ann@example.test", 1), ("", "ab", 3), ("a{2,}", "aaaa", 1),
            ("a??b", "ab", 1),
            ("[]]", "]", 1), ("[a-]", "-", 1), ("(?:ab){1,2}", "ababab", 2),
            ("\\b5", " 5", 1), ("\\Bb", "ab", 1), ("$", "ab", 1), ("(?:^|b)a", "xba", 1),
        ]
    )
    func counts(pattern: String, text: String, count: Int) throws {
        #expect(try BoundedPattern(pattern).count(in: text, upTo: 10) == count)
    }

    @Test("repetitions of nothing are read at once, however deep they are nested", .timeLimit(.minutes(1)))
    func repeatedNothing() throws {
        let pattern = String(repeating: "(", count: 40) + String(repeating: "){1000}", count: 40)
        #expect(try BoundedPattern(pattern + "a").count(in: "aa", upTo: 10) == 2)
    }

    @Test("a pattern that a backtracking engine takes exponential time for is matched at once", .timeLimit(.minutes(1)))
    func exponential() throws {
        let text = String(repeating: "a", count: BoundedPattern.longestText - 1) + "!"
        #expect(try BoundedPattern("^(a+)+$").count(in: text, upTo: 1) == 0)
        #expect(try BoundedPattern("^(a|a)*!$").count(in: text, upTo: 1) == 1)
    }

    @Test("a longer text than the longest has no match")
    func tooLong() throws {
        let text = String(repeating: "a", count: BoundedPattern.longestText + 1)
        #expect(try BoundedPattern("a").count(in: text, upTo: 1) == 0)
    }

    @Test(
        "what needs backtracking, and what is no pattern, is refused with its position",
        arguments: [
            ("(?=a)", "a group of a kind that isn't read at character 3"),
            ("(a)\\1", "an escape that isn't read at character 6"),
            ("a++", "a possessive quantifier, which isn't read, at character 4"),
            ("[z-a]", "a range that runs backwards at character 5"),
        ]
    )
    func refused(pattern: String, reason: String) {
        let error = #expect(throws: ExperimentationError.self) { _ = try BoundedPattern(pattern) }
        #expect(error?.code == .configuration)
        #expect(error?.message == "the pattern has \(reason)")
    }
}
