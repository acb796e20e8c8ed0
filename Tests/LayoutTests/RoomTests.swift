import Foundation
import Testing

/// Which files of a module depend on which: their code names a type that is declared there.
private struct Knowledge {
    /// The files that each file depends on, with the names of the types.
    private(set) var arrows: [String: [String: Set<String>]] = [:]

    init(of folder: String) throws {
        let files = Tree.files(in: folder)
        let declaration = try SwiftText.pattern(
            #"(?m)^[ \t]*(?:(?:public|package|internal|private|fileprivate|final|indirect|@\w+)\s+)*"#
                + #"(?:class|struct|enum|actor|protocol|typealias)\s+([A-Z]\w*)"#
        )
        var homes: [String: Set<String>] = [:]
        var words: [(path: String, names: Set<String>)] = []
        for file in files {
            for match in file.code.matches(of: declaration) {
                if let name = match.output[1].substring { homes[String(name), default: []].insert(file.path) }
            }
            let names = file.code.split { !($0.isLetter || $0.isNumber || $0 == "_") }.filter {
                $0.first?.isUppercase == true
            }
            words.append((file.path, Set(names.map(String.init))))
        }
        for (path, names) in words {
            for name in names {
                guard let home = homes[name], home.count == 1, let other = home.first, other != path else { continue }
                arrows[path, default: [:]][other, default: []].insert(name)
            }
        }
    }

    /// The files that can be reached from a file along the arrows.
    private func reach(from start: String) -> Set<String> {
        var seen: Set<String> = []
        var ways = [start]
        while let last = ways.popLast() {
            for next in (arrows[last] ?? [:]).keys where seen.insert(next).inserted { ways.append(next) }
        }
        return seen
    }

    /// The largest sets of files that all depend on each other, directly or indirectly, each as sorted names.
    func circles() -> [[String]] {
        let reached = Dictionary(uniqueKeysWithValues: arrows.keys.map { ($0, reach(from: $0)) })
        let circles = arrows.keys.compactMap { file -> [String]? in
            guard let mine = reached[file], mine.contains(file) else { return nil }
            return mine.filter { reached[$0]?.contains(file) == true }.map(Self.name).sorted()
        }
        return Array(Set(circles))
    }

    private static func name(of path: String) -> String {
        String((path.split(separator: "/").last ?? "").dropLast(".swift".count))
    }
}

/// A module's folders as rooms; a room depends on another one if a file in it depends on one there.
private struct Rooms {
    /// The rooms that each room depends on, with the names of the types.
    private(set) var arrows: [String: [String: Set<String>]] = [:]

    init(of folder: String) throws {
        for (path, others) in try Knowledge(of: folder).arrows {
            let room = Self.room(of: path, in: folder)
            for (other, names) in others {
                let owner = Self.room(of: other, in: folder)
                if owner != room { arrows[room, default: [:]][owner, default: []].formUnion(names) }
            }
        }
    }

    /// The first folder below the module's own, or the module itself.
    private static func room(of path: String, in folder: String) -> String {
        let rest = path.dropFirst(folder.count + 1).split(separator: "/")
        return rest.count > 1 ? String(rest[0]) : "(top)"
    }

    /// A cycle of rooms, if there is one, with the names that cause each step.
    func circle() -> String? {
        for start in arrows.keys.sorted() {
            var ways: [[String]] = [[start]]
            var seen: Set<String> = []
            while let way = ways.popLast(), let last = way.last {
                for next in (arrows[last] ?? [:]).keys.sorted() {
                    if next == start { return described(way + [start]) }
                    if seen.insert(next).inserted { ways.append(way + [next]) }
                }
            }
        }
        return nil
    }

    private func described(_ way: [String]) -> String {
        zip(way, way.dropFirst()).map { from, to in
            "\(from) → \(to) (\((arrows[from]?[to] ?? []).sorted().prefix(3).joined(separator: ", ")))"
        }.joined(separator: ", ")
    }
}

@Suite("Rooms", .readsThePackage)
struct RoomTests {
    @Test(
        "no two rooms of a module depend on each other, directly or indirectly",
        arguments: [
            "Sources/Experimentation", "Sources/AdapterKit", "Sources/ExperimentationSQLite",
            "Sources/ExperimentationMigration",
            "Sources/ExperimentationComposition", "Sources/xp",
            "Conformance/ConformanceKit", "Conformance/ComparisonKit", "Conformance/MockVendors",
            "Conformance/OFREPServerSuite", "Conformance/Subjects",
            "Gateway/Sources/GatewayServer", "Gateway/Sources/ExperimentationPostgres",
        ]
            + Tree.vendors.map { "Adapters/\($0)" }
    )
    func oneDirection(folder: String) throws {
        let rooms = try Rooms(of: folder)
        #expect(rooms.arrows.count > 1)
        #expect(rooms.circle() == nil)
    }

    /// The circles of files, and why each is one idea.
    private static let ideas: [String: [String]] = [
        "an observer wraps the operations of the environment that carries it":
            ["ClientEnvironment", "OperationObserver"],
        "a round is decided by its decision, which says how to go on with the round":
            ["DeliveryDecision", "DeliveryRound"],
        "one format, written and read": ["EnvelopeCoding", "EnvelopeReader", "EnvelopeWriter"],
        "a provider starts in a context, which starts the providers inside it":
            ["ExperimentationProvider", "ProviderContext"],
        "an answer as it is kept, and the cache of answers": ["DecisionCache", "RecalledAnswer"],
        "a session belongs to a client, which knows its sessions":
            ["ClientCore", "SessionRegistry", "UserSession", "UserSession+Changes"],
        "transactions, and the work that they share": ["GroupCommit", "GroupCommit+Jobs"],
        "a reader and its state": ["XMLParserState", "XMLReader"],
        "a pattern and its parser": ["BoundedPattern", "PatternParser"],
        "a screen, its contexts and the application that shows it":
            ["Evergage", "EvergageCapture", "EvergageContext", "EvergageScreen"],
        "rules and their builder": ["BucketingRuleset", "BucketingRulesetBuilder"],
        "a visitor, who is built by the application and belongs to it":
            ["Flagship", "FlagshipVisitor", "FlagshipVisitorBuilder"],
    ]

    @Test("files depend on each other in circles only where they are one idea")
    func oneIdea() throws {
        let folders =
            [
                "Sources/Experimentation", "Sources/AdapterKit", "Sources/ExperimentationSQLite",
                "Sources/ExperimentationMigration",
                "Sources/ExperimentationComposition",
            ] + Tree.vendors.map { "Adapters/\($0)" }
        let circles = try folders.flatMap { try Knowledge(of: $0).circles() }
        #expect(Set(circles) == Set(Self.ideas.values))
    }
}
