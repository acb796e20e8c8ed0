import Foundation
import Testing

@Suite("xp mock --world recognizes a file by its contents")
struct WorldFileTests {
    private static let json = #"{"name":"small","flags":[{"key":"banner","value":"big"}],"users":[{"id":"u"}]}"#
    private static let yaml = "name: small\nflags:\n  - {key: banner, value: big}\nusers:\n  - id: u\n"
    /// Flagship's own format.
    private static let rules =
        #"{"campaigns":[{"id":"c","type":"toggle","variationGroups":[{"id":"g","targeting":{"targetingGroups":[{"targetings":[{"operator":"EQUALS","key":"fs_all_users","value":""}]}]},"variations":[{"id":"v","modifications":{"type":"FLAG","value":{"banner":"big"}},"allocation":100}]}]}]}"#

    /// Returns the flags that a mock has.
    private func flags(of mock: ServedMock) async throws -> [String]? {
        let result = try await Tool.run(
            ["evaluate", "--config", try mock.configuration(#","mode":"bucketing""#)],
            input: #"{"user":{"id":"u","consent":true}}"#
        )
        return try JSONValue(result.output)["decisions"]?.object?.keys.sorted()
    }

    @Test(
        "with any ending or none: a neutral world in JSON or YAML, or the vendor's own format",
        arguments: [
            ("world", json), ("world.txt", json), ("world", yaml), ("world.world", yaml), ("rules.bucketing", rules),
        ]
    )
    func endings(name: String, text: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let mock = try await ServedMock("flagship", ["--world", try Tool.file(text, name, in: folder)])
        #expect(try await flags(of: mock) == ["banner"])
        _ = try await mock.end()
    }

    @Test("from a pipe, which can be read only once", arguments: [json, yaml, rules])
    func pipe(text: String) async throws {
        // Larger than what a pipe holds.
        let text = text + String(repeating: "\n", count: 100_000)
        let mock = try await ServedMock("flagship", ["--world", "/dev/stdin"], input: text)
        #expect(try await flags(of: mock) == ["banner"])
        _ = try await mock.end()
    }

    @Test(
        "an invalid world is reported with its place, whatever its ending",
        arguments: ["world", "world.json"]
    )
    func invalid(name: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = try Tool.file("{\n\"name\": \"small\",\n\"flags\": [{\"key\": 7}]}", name, in: folder)
        let result = try await Tool.run(["mock", "flagship", "--world", path])
        #expect(result.status == 66)
        #expect(result.complaint.hasPrefix("xp: \(path):3: flags[0].key: "), "\(result.errors)")
    }
}
