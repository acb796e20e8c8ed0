import AdapterKit
import Experimentation

extension ServerCase {
    /// Authentication.
    static let access: [ServerCase] = [
        stranger("access/nobody", "a request without a token is rejected", .none),
        stranger(
            "access/wrong-token",
            "a wrong token is rejected",
            .authorization("Bearer not-the-token")
        ),
        stranger("access/empty-token", "an empty token is rejected", .authorization("Bearer ")),
        stranger(
            "access/other-scheme",
            "Basic authentication isn't accepted for a token",
            .authorization("Basic YTpi")
        ),
        stranger("access/wrong-key", "a wrong API key is rejected", .apiKey("not-the-token")),
        stranger("access/almost", "a truncated token is rejected") { token in
            .authorization(Secret("Bearer \(token.reveal().dropLast())"))
        },
        stranger("access/more", "a token with a suffix is rejected") { token in
            .authorization(Secret("Bearer \(token.reveal())x"))
        },
        ServerCase("access/first", "a rejected request reveals nothing about flags") { probe in
            try probe.needToken()
            let flag = try probe.someFlag()
            var there = Ask.one(Ask.encoded(flag.key), probe.context)
            var absent = Ask.one(Survey.absent, probe.context)
            var bad = Ask.saying("{")
            for access in [Ask.Access.none, .authorization("Bearer not-the-token")] {
                (there.access, absent.access, bad.access) = (access, access, access)
                let statuses = [
                    try await probe.ask(there).status, try await probe.ask(absent).status,
                    try await probe.ask(bad).status,
                ]
                probe.expect(Set(statuses).count == 1, "the refusal tells what is there: \(statuses)")
            }
        },
        ServerCase("access/scheme-letters", "the scheme is case-insensitive") { probe in
            var ask = Ask.all(probe.context)
            ask.access = .authorization(Secret("bearer \(try probe.needToken().reveal())"))
            probe.expect(try await probe.ask(ask), is: 200, to: "a small bearer")
        },
        ServerCase("access/api-key", "X-API-Key is accepted, too", features: [.apiKeys]) { probe in
            var ask = Ask.all(probe.context)
            ask.access = .apiKey(try probe.needToken())
            probe.expect(try await probe.ask(ask), is: 200, to: "X-API-Key")
        },
        ServerCase("access/others", "another tenant's token gives that tenant's flags, and doesn't match our ETag") {
            probe in
            guard let other = probe.declaration.otherToken else {
                throw probe.skip("no other tenant's token is declared")
            }
            var ask = Ask.all(probe.context, ifNoneMatch: probe.survey.tag)
            ask.access = .authorization(Secret("Bearer \(other.reveal())"))
            let reply = try await probe.ask(ask)
            probe.expect(reply, is: 200, to: "another's flags")
            probe.expect(reply.byKey != probe.survey.bulk?.byKey, "another sees the same flags")
        },
    ]

    private static func stranger(_ name: String, _ summary: String, _ access: Ask.Access) -> ServerCase {
        stranger(name, summary) { _ in access }
    }

    private static func stranger(
        _ name: String,
        _ summary: String,
        _ access: @escaping @Sendable (Secret) -> Ask.Access
    ) -> ServerCase {
        ServerCase(name, summary) { probe in
            let token = try probe.needToken()
            var asks = [Ask.all(probe.context)]
            if let flag = probe.survey.good.first { asks.append(.one(Ask.encoded(flag.key), probe.context)) }
            for var ask in asks {
                ask.access = access(token)
                let reply = try await probe.ask(ask)
                probe.expect(reply, is: 401, 403, to: summary)
                probe.expect(reply.members["flags"] == nil && reply.members["value"] == nil, "flags for a stranger")
                let leaked = probe.survey.good.filter { $0.key.count > 3 && reply.text.contains($0.key) }
                probe.expect(leaked.isEmpty, "the refusal names flags: \(leaked.map(\.key))")
            }
        }
    }
}

extension ServerProbe {
    /// The server's token; skips the case if the server requires none.
    @discardableResult
    func needToken() throws -> Secret {
        guard let token = server.token else { throw skip("the server lets everybody in") }
        return token
    }
}
