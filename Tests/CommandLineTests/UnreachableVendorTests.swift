import Foundation
import Testing

// Apart from the other tests of mocks, because each waits seconds for repeated attempts.
@Suite("xp conform and a vendor that can't be reached")
struct UnreachableVendorTests {
    @Test(
        "a live run against an unreachable vendor has status 69 and one line, and judges no promise",
        arguments: ["flagship", "sigma", "engage", "evergage", "ofrep"]
    )
    func liveAbsent(vendor: String) async throws {
        let mock = try await ServedMock(vendor)
        // A port that no other test's server can get.
        let text = try String(contentsOfFile: mock.configuration(), encoding: .utf8)
        let absent = text.replacing(mock.url, with: "http://127.0.0.1:1")
        #expect(absent != text)
        let path = try Tool.file(absent, "absent.json", in: mock.folder)
        let result = try await Tool.run(["conform", "--config", path, "--live"])
        #expect(result.status == 69)
        #expect(result.complaint.hasPrefix("xp: TRANSPORT"), "\(result.errors)")
        #expect(result.output == "")
        _ = try await mock.end()
    }
}
