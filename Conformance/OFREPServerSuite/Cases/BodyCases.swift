import Experimentation

extension ServerCase {
    /// Request bodies.
    static let bodies: [ServerCase] =
        refused("not-json", "a body that isn't JSON", Array("flags, please".utf8))
        + refused("cut", "a truncated body", Array(#"{"context":{"targetingKey":"a"#.utf8))
        + refused("list", "a body that is a list", Array("[]".utf8))
        + refused("text", "a body that is a string", Array(#""context""#.utf8))
        + refused(
            "bad-text",
            "a body that isn't UTF-8",
            Array(#"{"context":{"targetingKey":""#.utf8) + [0xFF] + Array(#""}}"#.utf8)
        )
        + refused("trailing", "a body with trailing content", Array(#"{"context":{"targetingKey":"a"}} x"#.utf8))
        + [
            ServerCase("body/empty", "an empty body is answered, or rejected with an explanation") { probe in
                let reply = try await probe.ask(.saying(""))
                probe.expectAnswer(reply, orRefusal: FlagItem.codes, to: "an empty body")
            },
            ServerCase("body/deep", "a body 20,000 levels deep is rejected without a crash") { probe in
                let deep = String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)
                let reply = try await probe.ask(.saying(#"{"context":{"targetingKey":"a","deep":\#(deep)}}"#))
                // A server that ignores attributes may accept them.
                probe.expect([200, 400, 413].contains(reply.status), "20,000 levels: \(reply.status)")
                try await probe.expectAlive()
            },
            ServerCase("body/mark", "a byte order mark is accepted, or rejected with an explanation") { probe in
                let body = [0xEF, 0xBB, 0xBF] + Ask.body(probe.context)
                probe.expectAnswer(
                    try await probe.ask(.saying(body)),
                    orRefusal: FlagItem.codes,
                    to: "a byte order mark"
                )
            },
            ServerCase("body/white-space", "whitespace around a body is accepted") { probe in
                let body = Array(" \r\n\t".utf8) + Ask.body(probe.context) + Array("\n ".utf8)
                probe.expect(try await probe.ask(.saying(body)), is: 200, to: "white space")
            },
            ServerCase("body/escapes", "an escaped string equals the unescaped one") { probe in
                let escaped = probe.context["targetingKey"]?.stringValue?.utf16.map { unit in
                    let digits = String(unit, radix: 16)
                    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
                var rest = probe.context
                rest["targetingKey"] = nil
                let others = rest.isEmpty ? "" : "," + AnyJSON.text(.object(rest)).dropFirst().dropLast()
                let body = #"{"context":{"targetingKey":"\#(escaped?.joined() ?? "")"\#(others)}}"#
                let reply = try await probe.ask(.saying(body))
                probe.expect(reply, is: 200, to: "escapes")
                probe.expect(reply.byKey == probe.survey.bulk?.byKey, "another answer for the same context")
            },
            ServerCase("body/charset", "a content type with a parameter is still JSON") { probe in
                var ask = Ask.all(probe.context)
                ask.fields = [("Content-Type", "application/json; charset=utf-8")]
                probe.expect(try await probe.ask(ask), is: 200, to: "a charset")
            },
            ServerCase("body/no-type", "a body without a content type is accepted or rejected, never a server error") {
                probe in
                var ask = Ask.all(probe.context)
                ask.fields = []
                let reply = try await probe.ask(ask)
                probe.expect([200, 400, 415].contains(reply.status), "no content type: \(reply.status)")
            },
            ServerCase("body/chunked", "a chunked body is accepted", writesBytes: true) { probe in
                let body = Ask.body(probe.context)
                let chunks = body.map { "1;x=y\r\n\(Character(Unicode.Scalar($0)))\r\n" }.joined() + "0\r\n\r\n"
                let reply = try await probe.connect { connection in
                    try await connection.send(probe.head("POST", Ask.flags, Self.chunkedFields) + chunks)
                    return try await connection.reply()
                }
                probe.expect(reply?.status == 200, "chunks: \(reply.map { String($0.status) } ?? "no answer")")
                probe.expect(reply?.byKey == probe.survey.bulk?.byKey, "another answer for the same context")
            },
            ServerCase("body/continue", "Expect: 100-continue is answered", writesBytes: true) { probe in
                let body = String(decoding: Ask.body(probe.context), as: UTF8.self)
                let fields =
                    "Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                let first = try await probe.connect { connection in
                    try await connection.send(probe.head("POST", Ask.flags, fields))
                    return try await connection.head()
                }
                let status = first?.status ?? 0
                probe.expect([100, 417].contains(status), "Expect: 100-continue: \(status)")
            },
        ]

    private static let chunkedFields = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// A body that can't be parsed; one case for all flags, one for a single flag.
    private static func refused(_ name: String, _ summary: String, _ body: [UInt8]) -> [ServerCase] {
        let codes: Set<String> = ["PARSE_ERROR", "INVALID_CONTEXT", "GENERAL"]
        return [
            ServerCase("body/\(name)-all", "\(summary) is rejected for all flags") { probe in
                let reply = try await probe.ask(.saying(body))
                probe.expectRefusal(reply, codes: codes, to: summary)
                probe.expect(reply.members["key"] == nil, "a key where all were asked for")
            },
            ServerCase("body/\(name)-one", "\(summary) is rejected for one flag") { probe in
                let flag = try probe.someFlag()
                let reply = try await probe.ask(.saying(body, to: "\(Ask.flags)/\(Ask.encoded(flag.key))"))
                probe.expectRefusal(reply, codes: codes, key: flag.key, to: summary)
            },
        ]
    }
}
