import AdapterKit
import Experimentation
import MockVendors
import OFREPServerSuite
import Synchronization
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

    @Test("a tag may be computed from the request's bytes", arguments: ["tags/users", "tags/order"])
    func tagOfTheRequest(name: String) async throws {
        var server = OtherServer(mock: OFREPMock())
        server.misread = { request in
            var request = request
            request.headers.removeAll { $0.name == "If-None-Match" }
            return request
        }
        server.change = { request, answer in
            guard answer.headers.contains(where: { $0.name == "ETag" }) else { return answer }
            let tag = "\"\(request.body.map { String($0, radix: 16) }.joined())\""
            if request.header("If-None-Match") == tag {
                return MockResponse(status: 304, headers: [.init("ETag", tag)])
            }
            var answer = answer
            answer.headers = answer.headers.filter { $0.name != "ETag" } + [.init("ETag", tag)]
            return answer
        }
        let report = try await server.run(name)
        #expect(report.results.map(\.outcome) == [.passed], "\(report.text())")
    }

    @Test("a tag may be computed from an answer that contains something new each time")
    func tagOfTheAnswer() async throws {
        let count = Mutex(0)
        var server = OtherServer(mock: OFREPMock())
        server.change = { _, answer in
            guard answer.status == 200, answer.headers.contains(where: { $0.name == "ETag" }) else { return answer }
            var answer = answer
            let number = count.withLock { count in
                count += 1
                return count
            }
            answer.edit { $0["ticket"] = .int(number) }
            answer.headers = answer.headers.filter { $0.name != "ETag" } + [.init("ETag", "\"\(number)\"")]
            return answer
        }
        let report = try await server.run("tags/stable")
        #expect(report.results.map(\.outcome) == [.skipped("the answers differ")], "\(report.text())")
    }

    @Test(
        "a request without a context or a targeting key may be refused with any of the protocol's codes",
        arguments: ["missing", "null", "empty"],
        ["PARSE_ERROR", "INVALID_CONTEXT", "TARGETING_KEY_MISSING", "GENERAL"]
    )
    func codes(of name: String, code: String) async throws {
        var server = OtherServer(mock: OFREPMock())
        server.change = { _, answer in
            guard answer.status == 400 else { return answer }
            var answer = answer
            answer.edit { $0["errorCode"] = .string(code) }
            return answer
        }
        let report = try await server.run("context/\(name)-*")
        #expect(report.failed == [], "\(report.text())")
        #expect(report.isSuccess)
    }

    @Test("a flag may leave its value to the caller for any reason", arguments: ["TARGETING_MATCH", "SPLIT", "STATIC"])
    func values(reason: String) async throws {
        var server = OtherServer(mock: OFREPMock())
        server.change = { _, answer in
            var answer = answer
            answer.edit { members in
                func changed(_ item: FlagValue) -> FlagValue {
                    guard case .object(var members) = item, members["reason"] == "DISABLED" else { return item }
                    members["reason"] = .string(reason)
                    return .object(members)
                }
                if case .array(let flags)? = members["flags"] { members["flags"] = .array(flags.map(changed)) }
                if case .object(let alone) = changed(.object(members)) { members = alone }
            }
            return answer
        }
        let report = try await server.run("bulk/values")
        #expect(report.results.map(\.outcome) == [.passed], "\(report.text())")
    }
}
