import AdapterKit
import Experimentation

extension ServerCase {
    /// Reuse of connections.
    static let connections: [ServerCase] = [
        ServerCase("connection/kept", "a connection is reused for several requests", writesBytes: true) { probe in
            let asks = [Ask.all(probe.context), .one(Survey.absent, probe.context), .saying("{"), .all(probe.context)]
            let statuses = try await probe.converse(asks)
            probe.expect(statuses == [200, 404, 400, 200], "found \(statuses)")
        },
        ServerCase("connection/closed", "Connection: close is respected", writesBytes: true) { probe in
            let reply = try await probe.connect { connection in
                try await connection.send(Ask.all(probe.context).bytes(to: probe.server))
                let reply = try await connection.reply()
                // If the server doesn't close, this waits until the time is up.
                _ = try await connection.rest()
                return reply
            }
            probe.expect(reply?.status == 200, "found \(reply?.status ?? 0)")
        },
        ServerCase(
            "connection/pipelined",
            "pipelined requests are answered in order",
            writesBytes: true
        ) { probe in
            let flag = try probe.someFlag()
            let asks: [Ask] = [
                .one(Ask.encoded(flag.key), probe.context), .one(Survey.absent, probe.context), .all(probe.context),
                .one(Ask.encoded(flag.key), probe.context),
            ]
            let statuses = try await probe.converse(asks, atOnce: true)
            probe.expect(statuses == [200, 404, 200, 200], "found \(statuses)")
        },
        ServerCase("connection/dripped", "a request that arrives byte by byte is answered", writesBytes: true) {
            probe in
            let bytes = Ask.all(probe.context).bytes(to: probe.server)
            let reply = try await probe.connect { connection in
                for byte in bytes { try await connection.send([byte]) }
                return try await connection.reply()
            }
            probe.expect(reply?.status == 200, "found \(reply?.status ?? 0)")
        },
        ServerCase("connection/old", "HTTP/1.0 is answered, and the connection closed", writesBytes: true) { probe in
            let body = String(decoding: Ask.body(probe.context), as: UTF8.self)
            let head = probe.head().replacing(" HTTP/1.1", with: " HTTP/1.0")
            let heard = try await probe.say(
                head + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            )
            probe.expectStatus(of: heard, [200, 426, 505], to: "HTTP/1.0")
        },
        ServerCase("connection/absolute", "an absolute-form target is accepted", writesBytes: true) { probe in
            let body = String(decoding: Ask.body(probe.context), as: UTF8.self)
            let full = "POST http://\(probe.server.address.authority)\(probe.server.address.path)"
            let head = probe.head().replacing("POST \(probe.server.address.path)", with: full, maxReplacements: 1)
            let heard = try await probe.say(
                head
                    + "Connection: close\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            )
            probe.expectStatus(of: heard, [200], to: "an address in full")
        },
        ServerCase("connection/left", "clients that disconnect midway do no harm", writesBytes: true) { probe in
            for _ in 0..<20 {
                try await probe.connect { connection in
                    try await connection.send(probe.head() + "Content-Length: 100\r\n\r\n{")
                }
            }
            try await probe.expectAlive()
        },
        ServerCase("connection/many", "fifty concurrent connections are answered", writesBytes: true) { probe in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 { group.addTask { try await probe.ask(.all(probe.context)).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            probe.expect(statuses.allSatisfy { $0 == 200 }, "found \(Set(statuses).sorted())")
        },
    ]
}

extension ServerProbe {
    /// Sends several requests on one connection, and returns the statuses.
    func converse(_ asks: [Ask], atOnce: Bool = false) async throws -> [Int] {
        let server = server
        let requests = asks.map { ask in
            var ask = ask
            ask.closes = false
            return ask.bytes(to: server)
        }
        return try await connect { connection in
            var statuses: [Int] = []
            if atOnce { try await connection.send(Array(requests.joined())) }
            for request in requests {
                if !atOnce { try await connection.send(request) }
                guard let reply = try await connection.reply() else { break }
                statuses.append(reply.status)
            }
            return statuses
        }
    }
}
