import AdapterKit
import Experimentation

extension ServerCase {
    /// Authentication.
    static let access: [ServerCase] = [
        stranger("access/nobody", "who shows no token is turned away", .none),
        stranger(
            "access/wrong-token",
            "who shows a wrong token is turned away",
            .authorization("Bearer not-the-token")
        ),
        stranger("access/empty-token", "who shows an empty token is turned away", .authorization("Bearer ")),
        stranger("access/other-scheme", "a password is no token", .authorization("Basic YTpi")),
        stranger("access/wrong-key", "who shows a wrong key is turned away", .apiKey("not-the-token")),
        stranger("access/almost", "most of a token is no token") { token in
            .authorization(Secret("Bearer \(token.reveal().dropLast())"))
        },
        stranger("access/more", "more than a token is no token") { token in
            .authorization(Secret("Bearer \(token.reveal())x"))
        },
        ServerCase("access/first", "who isn't let in learns nothing of flags") { probe in
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
        ServerCase("access/scheme-letters", "the scheme's letters may be small") { probe in
            var ask = Ask.all(probe.context)
            ask.access = .authorization(Secret("bearer \(try probe.needToken().reveal())"))
            probe.expect(try await probe.ask(ask), is: 200, to: "a small bearer")
        },
        ServerCase("access/api-key", "X-API-Key opens it as well", features: [.apiKeys]) { probe in
            var ask = Ask.all(probe.context)
            ask.access = .apiKey(try probe.needToken())
            probe.expect(try await probe.ask(ask), is: 200, to: "X-API-Key")
        },
        ServerCase("access/others", "another's token shows another's flags, and no tag of ours") { probe in
            guard let other = probe.declaration.otherToken else { throw probe.skip("nobody else's token is known") }
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
