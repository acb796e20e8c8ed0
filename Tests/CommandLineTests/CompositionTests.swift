import Foundation
import Testing

@Suite("Several vendors on the command line")
struct CompositionTests {
    private static let text = """
        vendor: composed
        decisions: sigma
        exposures: {event: "experiment_viewed {experiment} {variation}"}
        vendors:
          sigma: {projectToken: any}
          evergage: {account: acme.us-1, dataset: engage}
        """

    private func file(_ text: String = text) throws -> String {
        try Tool.file(text, "composed.yaml", in: Tool.folder())
    }

    @Test("xp vendors prints the capabilities of the composition and its parts")
    func vendors() async throws {
        let result = try await Tool.run(["vendors", "--config", file(), "--format", "json"])
        #expect(result.status == 0, "\(result.errors)")
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "vendors").problems(of: document) == [])
        let vendors = try #require(document["vendors"]?.array)
        #expect(vendors.compactMap { $0["name"]?.string } == ["composed", "evergage", "sigma"])
        let whole = vendors.first?["capabilities"]?.array?.compactMap(\.string) ?? []
        #expect(Set(whole).isSuperset(of: ["flags", "holdouts", "tracking", "campaigns", "exposures"]))
    }

    @Test("xp compare plays a composition in a column of its own, next to its parts")
    func compare() async throws {
        let arguments = ["--vendor", "sigma", "--vendor", "evergage", "--without-timings", "--format", "json"]
        let result = try await Tool.run(["compare", "--config", file()] + arguments)
        #expect(result.status == 0, "\(result.errors)")
        let vendors = try #require(try JSONValue(result.output)["comparison"]?["vendors"]?.array)
        #expect(vendors.compactMap { $0["name"]?.string } == ["sigma", "evergage", "composed"])
        #expect(vendors.last?["lost"]?.number == 0)
    }

    @Test("an invalid table is reported in one line with the key")
    func bad() async throws {
        let result = try await Tool.run(["vendors", "--config", file(Self.text + "\nevents: {purchase: nobody}")])
        #expect(result.status == 66)
        #expect(
            result.complaint.hasSuffix(#""events.purchase": there is no vendor "nobody"; there are evergage, sigma"#)
        )
    }

    @Test("a row to a vendor that doesn't support the event is rejected at the start, with file and key")
    func withoutWord() async throws {
        let path = try file(Self.text + "\nevents: {purchase: sigma}")
        let result = try await Tool.run(["track", "--config", path], input: "")
        #expect(result.status == 66)
        #expect(result.errors.contains("xp: \(path): \"events.purchase\": sigma takes no events\n"), "\(result.errors)")
    }

    @Test("events wait while the disk is full, and the reason is reported")
    func fullDisk() async throws {
        let path = try file(
            """
            vendor: composed
            decisions: sigma
            events: {"*": file}
            vendors: {sigma: {projectToken: any}, file: {path: /dev/full}}
            """
        )
        let line = #"{"user":{"id":"u","consent":true},"event":{"type":"custom","name":"e"}}"#
        let store = URL(filePath: path).deletingLastPathComponent().appending(path: "events.db").path
        let arguments = ["track", "--config", path, "--store", store, "--deadline", "1"]
        let result = try await Tool.run(arguments, input: line)
        #expect(result.status == 69)
        #expect(
            result.errors.contains("the events' file can't be written: No space left on device"),
            "\(result.errors)"
        )
    }
}
