import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("A vendor that refuses the credentials, fails or sends nonsense has status 69, like one that can't be reached")
struct RefusedAccessTests {
    /// Serves a mock that answers everything with a status; 200 has an unreadable body.
    private static func mock(_ vendor: String, answering status: Int) async throws -> ServedMock {
        let nonsense = #"{"kind": "body", "body": "nonsense", "contentType": "application/json"}"#
        let fault = status == 200 ? nonsense : #"{"kind": "status", "status": \#(status)}"#
        let mock = try await ServedMock(vendor)
        var request = URLRequest(url: try #require(URL(string: mock.url + "/_mock/script")))
        request.httpMethod = "POST"
        request.httpBody = Data(#"[{"times": null, "fault": \#(fault)}]"#.utf8)
        let (_, answer) = try await URLSession.shared.data(for: request)
        #expect((answer as? HTTPURLResponse).map { $0.statusCode / 100 } == 2)
        return mock
    }

    private static let cases = ["flagship", "sigma", "ofrep"].flatMap { vendor in
        [
            (vendor, 401, "UNAUTHORIZED", "refuses the credentials"),
            (vendor, 500, "VENDOR_FAULT", "answers with errors"),
            (vendor, 200, "PARSE_ERROR", "answers with what can't be read"),
        ]
    }

    @Test("evaluate, with a message that tells the four cases apart", arguments: cases)
    func evaluated(vendor: String, status: Int, code: String, reason: String) async throws {
        let mock = try await Self.mock(vendor, answering: status)
        let configuration = try mock.configuration()
        let user = #"{"user":{"id":"ada","consent":true}}"#
        let result = try await Tool.run(["evaluate", "--config", configuration], input: user)
        #expect(try JSONValue(result.output)["error"]?["code"] == .string(code), "\(result.output)")
        #expect(result.complaint == "xp: \(vendor) \(reason)")
        #expect(result.status == 69)
        _ = try await mock.end()
    }

    @Test("conform --live, which leaves what can't be read to the cases", arguments: cases.filter { $0.1 != 200 })
    func live(vendor: String, status: Int, code: String, reason: String) async throws {
        let mock = try await Self.mock(vendor, answering: status)
        let result = try await Tool.run(["conform", "--live", "--config", try mock.configuration()])
        #expect(result.complaint.hasPrefix("xp: \(code): "), "\(result.errors)")
        #expect(result.status == 69)
        #expect(result.output == "")
        _ = try await mock.end()
    }

    @Test("flags check and flags pull", arguments: cases)
    func pulled(vendor: String, status: Int, code: String, reason: String) async throws {
        let mock = try await Self.mock(vendor, answering: status)
        let configuration = try mock.configuration()
        let manifest = try Tool.file(#"{"flags":{}}"#, "flags.json", in: mock.folder)
        for arguments in [["pull"], ["check", "--manifest", manifest]] {
            let result = try await Tool.run(["flags"] + arguments + ["--config", configuration])
            #expect(result.complaint.hasPrefix("xp: \(code): "), "\(result.errors)")
            #expect(result.status == 69)
        }
        _ = try await mock.end()
    }
}
