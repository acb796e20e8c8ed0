import Foundation
import Testing

/// Constructs that library targets must not contain, because they trap, leak or race where the caller can't see it.
@Suite("Constructs", .readsThePackage)
struct ConstructTests {
    /// A construct and the reason for its ban.
    struct Ban: Sendable, CustomTestStringConvertible {
        let pattern: String
        /// A substring of every match, searched first to skip the slower pattern.
        let word: String
        let reason: String
        /// Path prefixes of files that may contain it.
        var except: [String] = []
        var testDescription: String { pattern }
    }

    static let folders =
        ["Sources/Experimentation", "Sources/AdapterKit", "Sources/ExperimentationSQLite"]
        + ["Sources/ExperimentationTesting", "Sources/ExperimentationComposition", "Adapters", "Conformance"]

    static let bans: [Ban] = [
        Ban(pattern: #"@unchecked\s+Sendable"#, word: "@unchecked", reason: "the compiler no longer looks for races"),
        Ban(pattern: #"\btry!"#, word: "try!", reason: "it traps on what comes from outside"),
        Ban(pattern: #"\bas!"#, word: "as!", reason: "it traps on what comes from outside"),
        Ban(pattern: #"\bfatalError\b"#, word: "fatalError", reason: "a library doesn't end its application"),
        Ban(
            pattern: #"\bprecondition(Failure)?\b"#,
            word: "precondition",
            reason: "a library doesn't end its application"
        ),
        Ban(pattern: #"\bunsafelyUnwrapped\b"#, word: "unsafelyUnwrapped", reason: "it is undefined in release mode"),
        Ban(
            pattern: #"\bpublicStatementArguments\b"#,
            word: "publicStatementArguments",
            reason: "it writes personal data into logs"
        ),
        Ban(pattern: #"\bXMLDocument\b"#, word: "XMLDocument", reason: "it reads local files through entities"),
        Ban(pattern: #"(^|[^.\w])(debugPrint|print|NSLog)\("#, word: "(", reason: "a library doesn't print"),
        Ban(
            pattern: #"\bTask\.detached\b"#,
            word: "Task.detached",
            reason: "nothing waits for it or cancels it"
        ),
        Ban(
            pattern: #"(^|[^.\w])(Date|UUID)\(\)"#,
            word: "()",
            reason: "time and names are injected",
            // The places where the machine's own clock comes in.
            except: [
                "Sources/Experimentation/Host/ClientEnvironment.swift", "Sources/Experimentation/Host/TimeSource.swift",
                "Conformance/MockVendors/", "Conformance/ConformanceKit/Subjects/SuiteTime.swift",
            ]
        ),
        Ban(
            pattern: #"\[String\s*:\s*(any\s+)?Any\]"#,
            word: "Any",
            reason: "values have types of their own",
            // The place where dictionaries of vendors' SDKs come in.
            except: ["Sources/Experimentation/Values/FlagValue+Any.swift"]
        ),
    ]

    @Test("a library target doesn't use a banned construct", arguments: bans)
    func isAbsent(ban: Ban) throws {
        let pattern = try SwiftText.pattern(ban.pattern)
        var found: [String] = []
        for source in Tree.library
        where !ban.except.contains(where: source.path.hasPrefix) && source.code.range(of: ban.word) != nil {
            for (number, line) in source.code.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                if line.range(of: ban.word) != nil, line.contains(pattern) {
                    found.append("\(source.path):\(number + 1): \(ban.reason)")
                }
            }
        }
        #expect(found == [])
    }

    @Test(
        "no mutex holds a closure by itself, which would be wrapped once more with each access",
        arguments: ["Sources", "Adapters", "Conformance", "Tests", "Gateway/Sources", "Gateway/Tests"]
    )
    func mutexesHoldStructs(folder: String) throws {
        let files = Tree.files(in: folder)
        let alias = try SwiftText.pattern(#"\btypealias\s+(\w+)\s*=[^\n]*->"#)
        let matches = files.flatMap { $0.code.matches(of: alias) }
        let names = Set(matches.compactMap { $0.output[1].substring.map(String.init) })
        let words = (names.sorted().map { #"\b"# + $0 + #"\b"# } + ["->"]).joined(separator: "|")
        let pattern = try SwiftText.pattern(#"\bMutex<[^>\n]*?(?:"# + words + ")")
        #expect("let a: Mutex<@Sendable () -> Bool>".contains(pattern))
        #expect("let a = Mutex<(@Sendable (String) async -> Void)?>(nil)".contains(pattern))
        #expect("let a: Mutex<(count: Int, ask: @Sendable () -> Bool)>".contains(pattern))
        #expect(!"let a = Mutex<State>(State { () -> Bool in true })".contains(pattern))
        let found = files.filter { $0.code.contains("Mutex<") && $0.code.contains(pattern) }
        #expect(found.map(\.path) == [])
    }

    @Test("no source contains a note of unfinished work", arguments: folders + ["Sources/xp", "Tests"])
    func nothingIsLeftToDo(folder: String) throws {
        let pattern = try SwiftText.pattern(#"\b(TODO|FIXME|XXX|HACK)\b"#)
        let found = Tree.files(in: folder)
            .filter { !$0.path.hasPrefix("Tests/LayoutTests/") && $0.text.contains(pattern) }
        #expect(found.map(\.path) == [])
    }

    @Test(
        "no file of the rooms that keep and deliver events is over 250 lines long",
        arguments: ["Delivery", "Intake", "Stores"].map { "Sources/Experimentation/" + $0 }
            + ["Sources/ExperimentationSQLite"]
    )
    func filesAreShort(folder: String) {
        let files = Tree.files(in: folder)
        #expect(!files.isEmpty)
        let long = files.filter { $0.text.count(where: \.isNewline) > 250 }
        #expect(long.map(\.path) == [])
    }

    @Test("no script lets a compiler write to a device, which a failed compilation deletes")
    func scriptsKeepDevices() throws {
        for path in ["AppleChecks/check", "Makefile", ".ci/build", ".ci/run", ".ci/setup", ".ci/test"] {
            let text = try #require(Tree.text(of: path), "\(path)")
            #expect(!text.contains("-o /dev/"), "\(path)")
        }
    }

    @Test("each ban's pattern finds its construct")
    func bansBite() throws {
        let samples = [
            "final class A: @unchecked Sendable {}", "try! f()", "x as! Y", "fatalError()", "precondition(x)",
            "x.unsafelyUnwrapped", "configuration.publicStatementArguments = true", "XMLDocument(data: d)",
            "    print(1)", "Task.detached {}", "let d = Date()", "var a: [String: Any]",
        ]
        for (ban, sample) in zip(Self.bans, samples) {
            #expect(SwiftText.code(of: sample).contains(try SwiftText.pattern(ban.pattern)), "\(ban.pattern)")
        }
        #expect(Self.bans.count == samples.count)
        #expect(!SwiftText.code(of: #"let text = "try!" // try!"#).contains("try!"))
    }
}
