import AdapterKit
import Experimentation
import MockVendors
import OFREPServerSuite
import Testing

/// Servers that do what the protocol leaves to them.
@Suite("OFREP server suite: what the protocol leaves open")
struct FreedomTests {
    /// How a server writes its streams.
    struct Writing: Sendable, CustomTestStringConvertible {
        var lineEnd: String
        var isChunked: Bool
        var hasName = true

        var testDescription: String {
            "\(lineEnd.utf8.map { $0 == 13 ? "CR" : "LF" }.joined()) chunked: \(isChunked), named: \(hasName)"
        }

        func write(_ piece: [UInt8]) -> [UInt8] {
            var text = String(decoding: piece, as: UTF8.self)
            if !hasName { text = text.replacing("event: message\n", with: "") }
            let bytes = Array(text.replacing("\n", with: lineEnd).utf8)
            return isChunked ? Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [13, 10] : bytes
        }
    }

    @Test(
        "a stream is read whatever its lines end with, and however it is framed",
        arguments: ["\n", "\r\n", "\r"].flatMap { end in
            [true, false].flatMap { isChunked in
                [true, false].map { Writing(lineEnd: end, isChunked: isChunked, hasName: $0) }
            }
        }
    )
    func streams(writing: Writing) async throws {
        var server = OtherServer(mock: OFREPMock())
        server.piece = { writing.write($0) }
        server.change = { _, answer in
            guard writing.isChunked, answer.headers.contains(where: { $0.value == "text/event-stream" }) else {
                return answer
            }
            var answer = answer
            answer.headers.append(.init("Transfer-Encoding", "chunked"))
            return answer
        }
        let report = try await server.run("streams/change")
        #expect(report.results.map(\.outcome) == [.passed], "\(report.text())")
    }
}
