import AdapterKit
import Experimentation
import Foundation
import HTTPTypes
import Testing

/// Generates hostile ids, the same for the same seed.
struct HostileText {
    static let pieces = [
        "a", "Z", "0", "-", ".", "..", "/", "\\", "%", "%2e", "%2F", "%00", "%0d%0a", "?", "#", ";", "@", ":", "&", "=",
        "+",
        " ", "\t", "\r", "\n", "\r\n", "\0", "\u{1b}", "\u{7f}", "\u{85}", "\u{2028}", "\u{202e}", "é", "e\u{301}", "😀",
        "👩‍👩‍👧", "\u{feff}", "<", ">", "\"", "'", "{", "}", "[", "]", "|", "^", "`", "~", "$", ",", "*", "(", ")", "!",
        "\r\nX-Injected: 1", "\r\n\r\nGET /evil HTTP/1.1\r\n", "../../x", "//evil.example", "user:pw@", "../",
        "Content-Length: 0",
    ]

    static func ids(_ count: Int) -> [String] {
        var state: UInt64 = 0x9e37_79b9_7f4a_7c15
        func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var z = state
            z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
            z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
            return z ^ (z >> 31)
        }
        return (0..<count).map { index in
            if index < pieces.count { return pieces[index] }
            return (0...Int(next() % 6)).map { _ in pieces[Int(next() % UInt64(pieces.count))] }.joined()
        }
    }
}

@Suite("Injection")
struct InjectionTests {
    private func echo() throws -> RawServer {
        try RawServer { connection in
            while connection.readRequest() != nil {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }

    /// Decodes percent-encoding byte by byte.
    ///
    /// Foundation's decoder drops a byte order mark.
    private func decoded(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                rest = rest.dropFirst(2)
                bytes.append(value)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    @Test("P52 an id can't change the path's structure or the query's names")
    func ids() async throws {
        let server = try echo()
        defer { server.stop() }
        let transport = DefaultTransport.make()
        let endpoint = try Endpoint(server.url + "/v2/")
        var sent = 0
        for id in HostileText.ids(2000) {
            let request = endpoint.request(.get, path: ["users", id, "flags"], query: [("id", id), ("last", "1")])
            do throws(ExperimentationError) {
                _ = try await transport.send(request, body: [], limits: HTTPLimits(deadline: .seconds(60)))
            } catch {
                #expect(error.code == .invalidArgument && [".", ".."].contains(id), "\(id.debugDescription): \(error)")
                continue
            }
            sent += 1
            let received = server.received
            #expect(received.count == sent)
            let line = String(received[sent - 1].prefix { $0 != "\r\n" })
            let words = line.split(separator: " ")
            #expect(words.count == 3)
            let target = words[1].split(separator: "?", omittingEmptySubsequences: false)
            let segments = target[0].split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            #expect(segments.count == 5)
            #expect(decoded(segments[3]) == Array(id.utf8))
            let items = target[1].split(separator: "&").map {
                $0.split(separator: "=", omittingEmptySubsequences: false)
            }
            #expect(items.map { $0[0] } == ["id", "last"])
            #expect(decoded(String(items[0][1])) == Array(id.utf8))
        }
        #expect(sent >= 1990)
    }

    @Test("P51 a header value arrives unchanged, or the call fails before anything is sent")
    func values() async throws {
        let server = try echo()
        defer { server.stop() }
        let transport = DefaultTransport.make()
        let endpoint = try Endpoint(server.url)
        let name = try #require(HTTPField.Name("X-Token"))
        let expected: Set<String> = ["host", "accept", "accept-encoding", "x-token"]
        var sent = 0
        for value in HostileText.ids(2000) {
            var headers = HTTPFields()
            do throws(ExperimentationError) { try headers.put(value, for: name) } catch {
                #expect(error.code == .invalidArgument)
                #expect(!error.message.contains(value) || value.count < 3)
                continue
            }
            _ = try await transport.send(
                endpoint.request(.get, headers: headers),
                body: [],
                limits: HTTPLimits(deadline: .seconds(60))
            )
            sent += 1
            let received = server.received
            #expect(received.count == sent)
            let lines = received[sent - 1].components(separatedBy: "\r\n").dropFirst().filter { !$0.isEmpty }
            let names = lines.map { $0.prefix { $0 != ":" }.lowercased() }
            #expect(Set(names) == expected && names.count == expected.count, "\(value.debugDescription)")
            let line = lines.first { $0.lowercased().hasPrefix("x-token:") }
            #expect(line.map { Array($0.utf8) } == Array("X-Token: \(value)".utf8))
        }
        #expect(sent > 500)
    }

    private static let host = HTTPField.Name("Host") ?? .via

    static let forged: [HTTPFields] = [
        [host: "evil.example"], [.contentLength: "1"], [.transferEncoding: "chunked"],
        [.connection: "close"], [.expect: "100-continue"], [.upgrade: "h2c"], [.te: "trailers"],
        [.acceptEncoding: "br"], [.proxyAuthorization: "x"], [.contentEncoding: "gzip"],
    ]

    @Test("P51 header fields of the engine can't be set", arguments: Engine.allCases, forged)
    func refusesForged(engine: Engine, fields: HTTPFields) async throws {
        let server = try echo()
        defer { server.stop() }
        #expect(await exchange(engine, server, .post, headers: fields, body: "x").code == .invalidArgument)
        #expect(server.received.isEmpty)
    }

    @Test(
        "P51 a request built by hand must follow the same rules",
        arguments: [
            ("http", "example.com", "/", ErrorCode.configuration), ("ftp", "127.0.0.1", "/", .configuration),
            ("https", "user:pw@example.com", "/", .configuration), ("https", "example.com", "", .invalidArgument),
            ("https", "example.com", "x", .invalidArgument), ("https", "example.com", "/a/../b", .invalidArgument),
            ("https", "example.com", "/a/%2e%2E/b", .invalidArgument),
            ("https", "example.com", "/a//b", .invalidArgument),
            ("https", "example.com", "/a b", .invalidArgument),
            ("https", "example.com", "/a\r\nX: y", .invalidArgument),
            ("https", "example.com", "/a#b", .invalidArgument), ("https", "example.com", "/a?b c", .invalidArgument),
            ("https", "example.com", "/%zz", .invalidArgument), ("https", "example.com", "/é", .invalidArgument),
            ("https", "", "/a", .configuration), ("https", "example.com/x", "/a", .configuration),
            ("https", "example.com/", "/a", .configuration), ("https", "example.com?x", "/a", .configuration),
        ]
    )
    func byHand(scheme: String, authority: String, path: String, code: ErrorCode) {
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        let error = #expect(throws: ExperimentationError.self) { try request.validated() }
        #expect(error?.code == code)
    }
}
