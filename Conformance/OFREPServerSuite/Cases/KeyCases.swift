import Experimentation

extension ServerCase {
    /// Keys in the path, which two clients encode differently.
    static let keys: [ServerCase] =
        spellings + [
            echo("keys/absent-slash", "an unescaped slash is part of the key", "no/such", "no/such"),
            echo("keys/absent-escaped-slash", "an escaped slash is part of the key", "no%2Fsuch", "no/such"),
            echo("keys/absent-letters", "a key in any script is read", "no-%C3%A9-%F0%9F%98%80", "no-é-😀"),
            echo("keys/absent-space", "an escaped space is part of the key", "no%20such", "no such"),
            echo("keys/plus", "a plus is a plus, not a space", "no+such", "no+such"),
            echo("keys/decoded-once", "a key is decoded once", "no%2561", "no%61"),
            echo("keys/question-mark", "an escaped question mark is part of the key", "no%3Fsuch", "no?such"),
            echo("keys/hash", "an escaped hash is part of the key", "no%23such", "no#such"),
            echo("keys/lower-case-escape", "escapes may be lowercase", "no%2fsuch%c3%a9", "no/suché"),
            odd("keys/bad-escape", "an invalid escape is rejected", "no%zzsuch"),
            odd("keys/cut-escape", "a truncated escape is rejected", "nosuch%4"),
            odd("keys/bad-text", "bytes that aren't UTF-8 are rejected", "no%FFsuch"),
            odd("keys/zero", "a zero byte is rejected", "no%00such"),
            odd("keys/dots", "dot segments don't traverse", "..%2F..%2F..%2Fetc%2Fpasswd"),
            odd("keys/line-break", "a line break doesn't inject a header field", "no%0D%0AX-Injected:%201"),
            odd("keys/long", "a key of 2,000 characters is rejected", String(repeating: "k", count: 2_000)),
            ServerCase("keys/empty", "an empty key means all flags, or is rejected") { probe in
                let reply = try await probe.ask(.one("", probe.context))
                probe.expect([200, 301, 307, 308, 400, 404].contains(reply.status), "an empty key: \(reply.status)")
            },
        ]

    private static let spellings: [ServerCase] = [
        spelt("keys/slash", "a key with a slash is found unescaped", { $0.contains("/") }) {
            $0.split(separator: "/", omittingEmptySubsequences: false).map { Ask.encoded(String($0)) }
                .joined(separator: "/")
        },
        spelt("keys/escaped-slash", "a key with a slash is found escaped", { $0.contains("/") }) {
            Ask.encoded($0)
        },
        spelt("keys/space", "a key with a space is found", { $0.contains(" ") }) { Ask.encoded($0) },
        spelt("keys/letters", "a non-ASCII key is found", { $0.utf8.contains { $0 > 127 } }) {
            Ask.encoded($0)
        },
        spelt("keys/needless-escapes", "a key is found with needless escapes", { _ in true }) { key in
            key.utf8.map { byte in
                let digits = Array("0123456789abcdef")
                return "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
            .joined()
        },
    ]

    /// An existing flag, by a spelling of its key.
    private static func spelt(
        _ name: String,
        _ summary: String,
        _ isMeant: @escaping @Sendable (String) -> Bool,
        _ spelling: @escaping @Sendable (String) -> String
    ) -> ServerCase {
        ServerCase(name, summary) { probe in
            let flag = try probe.someFlag(where: { isMeant($0.key) }, "with such a key")
            let reply = try await probe.ask(.one(spelling(flag.key), probe.context))
            probe.expect(reply, is: 200, to: spelling(flag.key))
            probe.expect(reply.members["key"]?.stringValue == flag.key, "another key came back")
            probe.expect(reply.members["value"] == flag.value, "another value came back")
        }
    }

    /// A missing flag: the rejection names the decoded key.
    private static func echo(_ name: String, _ summary: String, _ spelling: String, _ key: String) -> ServerCase {
        ServerCase(name, summary) { probe in
            let reply = try await probe.ask(.one(spelling, probe.context))
            probe.expectRefusal(reply, [404], codes: ["FLAG_NOT_FOUND"], key: key, to: spelling)
        }
    }

    /// An invalid key.
    private static func odd(_ name: String, _ summary: String, _ spelling: String) -> ServerCase {
        ServerCase(name, summary) { probe in
            let reply = try await probe.ask(.one(spelling, probe.context))
            probe.expect([400, 404, 414].contains(reply.status), "\(spelling.prefix(40)): \(reply.status)")
            probe.expect(reply.field("X-Injected") == nil, "a line break of the key became a field")
            try await probe.expectAlive()
        }
    }
}
