import Experimentation

extension ServerCase {
    /// Keys in the path, which two clients encode differently.
    static let keys: [ServerCase] =
        spellings + [
            echo("keys/absent-slash", "a slash as it is belongs to the key", "no/such", "no/such"),
            echo("keys/absent-escaped-slash", "an escaped slash belongs to the key", "no%2Fsuch", "no/such"),
            echo("keys/absent-letters", "a key of any letters is read", "no-%C3%A9-%F0%9F%98%80", "no-é-😀"),
            echo("keys/absent-space", "an escaped space belongs to the key", "no%20such", "no such"),
            echo("keys/plus", "a plus is a plus, not a space", "no+such", "no+such"),
            echo("keys/decoded-once", "a key is decoded once", "no%2561", "no%61"),
            echo("keys/question-mark", "an escaped question mark belongs to the key", "no%3Fsuch", "no?such"),
            echo("keys/hash", "an escaped hash belongs to the key", "no%23such", "no#such"),
            echo("keys/lower-case-escape", "escapes may have small letters", "no%2fsuch%c3%a9", "no/suché"),
            odd("keys/bad-escape", "an escape that is none is refused", "no%zzsuch"),
            odd("keys/cut-escape", "an escape that is cut short is refused", "nosuch%4"),
            odd("keys/bad-text", "bytes that are no text are refused", "no%FFsuch"),
            odd("keys/zero", "a zero byte is refused", "no%00such"),
            odd("keys/dots", "dots lead nowhere", "..%2F..%2F..%2Fetc%2Fpasswd"),
            odd("keys/line-break", "a line break is no field", "no%0D%0AX-Injected:%201"),
            odd("keys/long", "a key of 2,000 letters is refused", String(repeating: "k", count: 2_000)),
            ServerCase("keys/empty", "no key at all is all flags, or refused") { probe in
                let reply = try await probe.ask(.one("", probe.context))
                probe.expect([200, 301, 307, 308, 400, 404].contains(reply.status), "an empty key: \(reply.status)")
            },
        ]

    private static let spellings: [ServerCase] = [
        spelt("keys/slash", "a flag whose key has a slash is found by the slash as it is", { $0.contains("/") }) {
            $0.split(separator: "/", omittingEmptySubsequences: false).map { Ask.encoded(String($0)) }
                .joined(separator: "/")
        },
        spelt("keys/escaped-slash", "a flag whose key has a slash is found by it escaped", { $0.contains("/") }) {
            Ask.encoded($0)
        },
        spelt("keys/space", "a flag whose key has a space is found", { $0.contains(" ") }) { Ask.encoded($0) },
        spelt("keys/letters", "a flag whose key has letters beyond ASCII is found", { $0.utf8.contains { $0 > 127 } }) {
            Ask.encoded($0)
        },
        spelt("keys/needless-escapes", "a key is found however much of it is escaped", { _ in true }) { key in
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
