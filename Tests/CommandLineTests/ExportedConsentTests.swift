import Foundation
import Testing

@Suite("xp outbox export states the consent that the store knows of, and no other")
struct ExportedConsentTests {
    private static let evergage =
        #"{"vendor":"evergage","account":"acme.us-1","dataset":"engage","endpoints":{"base":"http://127.0.0.1:9/"}}"#
    private static let flagship =
        #"{"vendor":"flagship","environmentID":"e","apiKey":"k","endpoints":{"events":"http://127.0.0.1:9/"}}"#
    /// A vendor that needs no consent beside one that does.
    private static let composed = """
        {"vendor":"composed","vendors":{
          "flagship":{"environmentID":"e","apiKey":"k","endpoints":{"events":"http://127.0.0.1:9/"}},
          "evergage":{"account":"acme.us-1","dataset":"engage","endpoints":{"base":"http://127.0.0.1:9/"}}}}
        """

    /// Tracks events for a vendor that can't be reached, and returns them as they are exported.
    private func exported(_ lines: [String], by configuration: String, in folder: URL) async throws -> String {
        let path = try Tool.file(configuration, "\(UUID().uuidString).json", in: folder)
        let store = folder.appending(path: "\(UUID().uuidString).db").path
        let track = ["track", "--config", path, "--store", store, "--deadline", "0"]
        _ = try await Tool.run(track, input: lines.joined(separator: "\n"))
        return try await Tool.run(["outbox", "export", "--store", store]).output
    }

    private static func line(_ consent: String?, _ event: String) -> String {
        #"{"user":{"id":"bob"\#(consent.map { #","consent":"# + $0 } ?? "")},"event":\#(event)}"#
    }

    private static let view = #"{"type":"custom","name":"seen"}"#

    @Test(
        "it states consent only if no delivery of the event is held and a vendor that needs consent may get it",
        arguments: [
            (evergage, nil, view, nil), (evergage, "true", view, nil), (flagship, nil, view, nil),
            (flagship, "true", view, true), (composed, nil, view, nil), (composed, "true", view, true),
            (flagship, nil, #"{"type":"consentChanged","granted":false}"#, nil),
        ] as [(String, String?, String, Bool?)]
    )
    func stated(configuration: String, consent: String?, event: String, stated: Bool?) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let line = try await exported([Self.line(consent, event)], by: configuration, in: folder)
        #expect(try JSONValue(line)["user"]?["consent"] == stated.map { .bool($0) }, "\(line)")
    }

    @Test("an event exported for a vendor that needs no consent is held by a vendor that does")
    func heldElsewhere() async throws {
        let mock = try await ServedMock("flagship")
        let out = try await exported([Self.line(nil, Self.view)], by: Self.evergage, in: mock.folder)
        let store = mock.folder.appending(path: "f.db").path
        let result = try await Tool.run(
            ["track", "--config", try mock.configuration(), "--store", store],
            input: out
        )
        #expect(result.status == 69)
        #expect(result.errors.contains("1 event waits for its user's consent"), "\(result.errors)")
        _ = try await mock.end()
    }

    @Test("an imported event neither ends a denial nor releases others")
    func grantsNothing() async throws {
        let mock = try await ServedMock("flagship")
        let out = try await exported([Self.line("true", Self.view)], by: Self.flagship, in: mock.folder)
        func track(_ input: String, into store: String) async throws -> Tool.Result {
            let path = mock.folder.appending(path: store).path
            return try await Tool.run(
                ["track", "--config", try mock.configuration(), "--store", path],
                input: input
            )
        }
        let denied = try await track(Self.line("false", Self.view) + "\n" + out, into: "denied.db")
        #expect(denied.status == 1)
        #expect(
            try denied.lines.dropLast().map { try JSONValue($0)["error"]?["code"]?.string }
                == ["CONSENT_DENIED", "CONSENT_DENIED"]
        )
        let held = try await track(Self.line(nil, Self.view) + "\n" + out, into: "held.db")
        let ledger = try JSONValue(held.lines.last ?? "")["ledger"]
        #expect(ledger?["delivered"]?.number == 1 && ledger?["pending"]?.number == 1, "\(held.output)")
        _ = try await mock.end()
    }
}
