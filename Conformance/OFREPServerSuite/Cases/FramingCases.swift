import AdapterKit
import Experimentation

extension ServerCase {
    /// Request smuggling: for an ambiguous request, the server sends at most one rejection and closes the connection.
    static let framing: [ServerCase] = [
        framed("no-host", "a request without a Host field is rejected", [400]) { probe in
            whole(probe).replacing("Host: \(probe.server.address.authority)\r\n", with: "")
        },
        framed("two-hosts", "a request with two Host fields is rejected", [400]) { whole($0, "Host: other\r\n") },
        framed("both-lengths", "a body with both Content-Length and Transfer-Encoding is rejected", [400]) { probe in
            probe.head("POST", Ask.flags, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
                + inner(probe)
        },
        framed("two-lengths", "two different Content-Length fields are rejected", [400]) { probe in
            probe.head("POST", Ask.flags, "Content-Length: 2\r\nContent-Length: 20\r\n\r\n{}") + inner(probe)
        },
        framed("odd-length", "a Content-Length with a sign is rejected", [400]) { probe in
            probe.head("POST", Ask.flags, "Content-Length: +2\r\n\r\n{}") + inner(probe)
        },
        framed("negative-length", "a negative Content-Length is rejected", [400]) {
            $0.head("POST", Ask.flags, "Content-Length: -1\r\n\r\n")
        },
        framed("odd-encoding", "an unknown encoding is rejected", [400, 501]) { probe in
            probe.head("POST", Ask.flags, "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n") + inner(probe)
        },
        framed("bad-chunk", "a malformed chunk size is rejected", [400]) { probe in
            probe.head(
                "POST",
                Ask.flags,
                "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"
            )
                + inner(probe)
        },
        framed("huge-chunk", "an overlong chunk size is rejected", [400, 413]) { probe in
            probe.head("POST", Ask.flags, "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n")
                + inner(probe)
        },
        framed("space-before-colon", "a space before a field's colon is rejected", [400]) { probe in
            whole(probe, "X-Odd : 2\r\n")
        },
        framed("zero-in-field", "a zero byte in a field is rejected", [400]) {
            whole($0, "X: a\u{0}b\r\n")
        },
        framed("nonsense", "bytes that aren't HTTP are rejected", [400], mayBeSilent: true) { _ in
            "\u{16}\u{3}\u{1} nonsense\r\n\r\n"
        },
        framed("other-protocol", "an unknown HTTP version is rejected", [400, 505], mayBeSilent: true) { probe in
            whole(probe).replacing(" HTTP/1.1\r\n", with: " HTTP/9.9\r\n")
        },
        framed("large-field", "a field of 300,000 bytes is rejected", [400, 413, 431], mayBeSilent: true) { probe in
            whole(probe, "X: \(String(repeating: "x", count: 300_000))\r\n")
        },
        framed("many-fields", "10,000 fields are rejected", [400, 413, 431], mayBeSilent: true) { probe in
            whole(probe, (0..<10_000).map { "X-\($0): y\r\n" }.joined())
        },
        framed("long-target", "a URL of 300,000 bytes is rejected", [400, 404, 414, 431], mayBeSilent: true) {
            probe in
            probe.head("POST", "\(Ask.flags)/\(String(repeating: "k", count: 300_000))", "Content-Length: 0\r\n\r\n")
        },
    ]

    /// A request hidden behind one whose end is ambiguous; it must not be answered.
    private static func inner(_ probe: ServerProbe) -> String {
        String(decoding: Ask.all(probe.context).bytes(to: probe.server), as: UTF8.self)
    }

    /// A valid request with additional fields; a server that accepts them answers 200.
    private static func whole(_ probe: ServerProbe, _ fields: String = "") -> String {
        let body = String(decoding: Ask.body(probe.context), as: UTF8.self)
        let own = "Connection: close\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        return probe.head("POST", Ask.flags, fields + own) + body
    }

    private static func framed(
        _ name: String,
        _ summary: String,
        _ statuses: Set<Int>,
        mayBeSilent: Bool = false,
        _ text: @escaping @Sendable (ServerProbe) -> String
    ) -> ServerCase {
        ServerCase("framing/\(name)", summary, writesBytes: true) { probe in
            let heard = try await probe.say(text(probe))
            probe.expectStatus(of: heard, statuses, mayBeSilent: mayBeSilent, to: name)
            probe.expect(!heard.contains("HTTP/1.1 200"), "what follows a request without a clear end was answered")
            probe.expect(heard.split(separator: "HTTP/1.1 ").count <= 1, "more than one answer")
            try await probe.expectAlive()
        }
    }
}
