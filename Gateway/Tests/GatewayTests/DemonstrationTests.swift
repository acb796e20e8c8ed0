import AdapterKit
import Experimentation
import Foundation
import Testing

/// What `make gateway` starts: the program without a configuration.
@Suite("The demonstration")
struct DemonstrationTests {
    @Test("without a configuration the program serves the shop over a mock vendor, and says so in its first line")
    func first() async throws {
        let child = try await Child([])
        let line = try #require(try JSON.parse(child.head).objectValue, "\(child.head)")
        #expect(line["tenant"] == "shop")
        let token = try #require(line["credentials"]?.objectValue?["token"]?.stringValue)
        let url = try #require(line["url"]?.stringValue)
        #expect(url.hasPrefix("http://127.0.0.1:"))
        let wire = Wire(port: try #require(url.split(separator: ":").last.flatMap { Int($0) }))
        let path = "/ofrep/v1/evaluate/flags/checkout-color"
        let answer = try await wire.post(path, #"{"context":{"targetingKey":"ada"}}"#, token: token)
        #expect(answer.status == 200)
        #expect(answer.body.contains(#""value":"green""#), "\(answer)")
        #expect(try await wire.post(path, "{}", token: "another").status == 401)
        #expect(try await child.end() == 0)
    }
}
