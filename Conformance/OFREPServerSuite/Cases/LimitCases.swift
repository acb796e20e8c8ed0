import AdapterKit
import Experimentation

extension ServerCase {
    /// Size and rate limits.
    static let limits: [ServerCase] = [
        ServerCase("limits/patience", "a throttled client gets Retry-After in whole seconds") { probe in
            guard let token = probe.declaration.exhaustedToken else {
                throw probe.skip("no token is known that has used up what it may ask")
            }
            for var ask in [Ask.all(probe.context), .one(Survey.absent, probe.context)] {
                ask.access = .authorization(Secret("Bearer \(token.reveal())"))
                let reply = try await probe.ask(ask)
                probe.expect(reply, is: 429, to: "a token that is used up")
                let wait = reply.field("Retry-After") ?? "missing"
                probe.expect(
                    !wait.isEmpty && wait.utf8.allSatisfy { (48...57).contains($0) },
                    "Retry-After: \(wait); only whole seconds are read by every client"
                )
            }
        },
        ServerCase("limits/body", "an oversized body is rejected without a crash") { probe in
            guard let bytes = probe.declaration.tooManyBodyBytes else {
                throw probe.skip("no limit of a body's size is declared")
            }
            let filler = String(repeating: "x", count: bytes)
            let reply = try await probe.ask(.saying(#"{"context":{"targetingKey":"a","x":"\#(filler)"}}"#))
            probe.expect(reply, is: 413, 400, to: "\(bytes) bytes")
            try await probe.expectAlive()
        },
        ServerCase(
            "limits/announced",
            "an oversized Content-Length is rejected before the body arrives",
            writesBytes: true
        ) { probe in
            guard probe.declaration.tooManyBodyBytes != nil else {
                throw probe.skip("no limit of a body's size is declared")
            }
            // The body is never sent: a server that waits for it would wait until its time is up.
            let heard = try await probe.say(probe.head("POST", Ask.flags, "Content-Length: 99999999999\r\n\r\n"))
            probe.expectStatus(of: heard, [400, 413], to: "99,999,999,999 bytes")
            try await probe.expectAlive()
        },
    ]

    /// Shutdown; the server is unavailable afterwards.
    static let shutdown: [ServerCase] = [
        ServerCase("shutdown/under-way", "a request under way is answered, and is the last", writesBytes: true) {
            probe in
            guard let shutDown = probe.declaration.shutDown else {
                throw probe.skip("no way to shut the server down is declared")
            }
            let body = String(decoding: Ask.body(probe.context), as: UTF8.self)
            let fields = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            let question = probe.head("POST", Ask.flags, fields) + body
            let reply = try await probe.connect { connection in
                // The answer to a question shows that the beginning of the next one, sent with it, has arrived. An
                // answer on another connection wouldn't: servers read each on a thread of its own.
                try await connection.send(question + question.dropLast())
                let before = try await connection.reply()
                probe.expect(before?.status == 200, "before it: \(before.map { String($0.status) } ?? "no answer")")
                try await shutDown.fire()
                try await connection.send(String(question.suffix(1)))
                return try await connection.reply()
            }
            probe.expect(reply?.status == 200, "found \(reply.map { String($0.status) } ?? "no answer")")
            probe.expect(reply?.closes == true, "the answer doesn't say that it is the last")
        }
    ]
}
