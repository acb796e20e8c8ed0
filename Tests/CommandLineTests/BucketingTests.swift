import Foundation
import Testing

/// A bucketing file, served by `xp mock` and evaluated by `xp evaluate`.
@Suite("xp mock and evaluate with a bucketing file", .serialized)
struct BucketingTests {
    /// The users' variations in two halves, computed by another program.
    struct Places: Decodable {
        let group: String
        let visitors: [String]
        let places: [Int]
    }

    static func line(_ id: String, _ more: String = "") throws -> String {
        let name = String(decoding: try JSONEncoder().encode(id), as: UTF8.self)
        return #"{"user":{"id":\#(name),"consent":true,"attributes":{"city":"lyon"}}\#(more)}"#
    }

    static func evaluate(_ mock: ServedMock, _ settings: String, _ lines: [String]) async throws -> [JSONValue] {
        let result = try await Tool.run(
            ["evaluate", "--config", try mock.configuration(settings)],
            input: lines.joined(separator: "\n") + "\n"
        )
        #expect(result.status == 0, "\(result.errors)")
        return try result.lines.map { try JSONValue($0) }
    }

    @Test("a vendor's own file assigns a thousand users as expected, and earlier assignments win")
    func plainFile() async throws {
        let fixture = Tool.root.appending(path: "Conformance/Fixtures/Flagship/allocation-places.json")
        let places = try JSONDecoder().decode(Places.self, from: Data(contentsOf: fixture))
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try Tool.file(
            """
            {"campaigns":[{"id":"camp","type":"ab","variationGroups":[{"id":"\(places.group)","targeting":{"targetingGroups":[
            {"targetings":[{"operator":"EQUALS","key":"city","value":"lyon"}]}]},"variations":[
            {"id":"a","allocation":50,"reference":true,"modifications":{"type":"FLAG","value":{"flag":"a"}}},
            {"id":"b","allocation":50,"modifications":{"type":"FLAG","value":{"flag":"b"}}}]}]}]}
            """,
            "bucketing.json",
            in: folder
        )
        let mock = try await ServedMock("flagship", ["--world", file])
        var lines = try places.visitors.map { try Self.line($0) }
        let inA = try #require(places.places.firstIndex { $0 < 50 })
        lines.append(try Self.line(places.visitors[inA], #","assignments":{"\#(places.group)":"b"}"#))
        let decided = try await Self.evaluate(mock, #","mode":"bucketing""#, lines)
        let expected = places.places.map { $0 < 50 ? "a" : "b" } + ["b"]
        #expect(decided.map { $0["decisions"]?["flag"]?["value"]?.string } == expected)
        #expect(decided.map { $0["decisions"]?["flag"]?["variant"]?.string } == expected)
        #expect(decided[inA]["assignments"]?[0]?["isControl"] == .bool(true))
        // By the server's rules, a campaign without ranges is closed to everyone.
        let server = try await Self.evaluate(mock, #","mode":"bucketing","rules":"server""#, Array(lines.prefix(3)))
        #expect(server.allSatisfy { $0["decisions"] == .object([:]) })
        // One request for the file, however many users.
        let url = try #require(URL(string: mock.url + "/_mock/requests"))
        let journal = try JSONValue(try String(contentsOf: url, encoding: .utf8)).array ?? []
        #expect(journal.map { $0["operation"]?.string } == ["bucketing", "bucketing"])
        _ = try await mock.end()
    }

    @Test("the vendor and the adapter decide a neutral world alike")
    func neutralWorld() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let world = try Tool.file(
            """
            {"name":"w","flags":[{"key":"plain","value":7},
             {"key":"town","value":"none","rules":[{"when":[{"attribute":"city","value":"lyon"}],"value":"Lyon"}]},
             {"key":"tested","value":"off","experiment":"test","variations":{"on":"on","off":"off"}}],
             "experiments":[{"id":"test","variations":[{"id":"off","weight":50,"control":true},{"id":"on","weight":50}]}]}
            """,
            "world.json",
            in: folder
        )
        let mock = try await ServedMock("flagship", ["--world", world])
        let lines = try (0..<100).map { try Self.line("user-\($0)") }
        let here = try await Self.evaluate(mock, #","mode":"bucketing""#, lines)
        let there = try await Self.evaluate(mock, "", lines)
        func values(_ answer: JSONValue) -> [String: JSONValue] {
            (answer["decisions"]?.object ?? [:]).compactMapValues { $0["value"] }
        }
        #expect(here.map(values) == there.map(values))
        #expect(here.map { $0["assignments"] } == there.map { $0["assignments"] })
        #expect(here.allSatisfy { values($0)["plain"] == .number(7) && values($0)["town"] == .string("Lyon") })
        #expect(Set(here.map { values($0)["tested"] }) == [.string("on"), .string("off")])
        _ = try await mock.end()
    }
}
