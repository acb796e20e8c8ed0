import Foundation
import Testing

/// A module's folders as rooms; a room knows another one if its code names a type in it.
private struct Rooms {
    /// The rooms that each room knows, with the names of the types.
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
            let room = Self.room(of: path, in: folder)
            for name in names {
                guard let home = homes[name], home.count == 1, let other = home.first, other != path else { continue }
                let owner = Self.room(of: other, in: folder)
                if owner != room { arrows[room, default: [:]][owner, default: []].insert(name) }
            }
        }
    }

    /// The first folder below the module's own, or the module itself.
    private static func room(of path: String, in folder: String) -> String {
        let rest = path.dropFirst(folder.count + 1).split(separator: "/")
        return rest.count > 1 ? String(rest[0]) : "(top)"
    }

    /// A cycle of rooms, if there is one, with the names behind each step.
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

@Suite("Rooms")
struct RoomTests {
    @Test(
        "no two rooms of a module know each other, directly or indirectly",
        arguments: [
            "Sources/Experimentation", "Sources/AdapterKit", "Sources/ExperimentationMigration",
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
}
