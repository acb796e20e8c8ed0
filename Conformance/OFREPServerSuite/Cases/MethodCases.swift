import Experimentation

extension ServerCase {
    /// Methods and paths.
    static let methods: [ServerCase] =
        ["GET", "PUT", "DELETE", "PATCH"].map { method in
            ServerCase("methods/\(method.lowercased())", "\(method) doesn't evaluate flags") { probe in
                var ask = Ask.all(probe.context)
                ask.method = method
                for path in [Ask.flags, "\(Ask.flags)/\(Survey.absent)"] {
                    ask.path = path
                    let reply = try await probe.ask(ask)
                    probe.expect(reply, is: 404, 405, 501, to: "\(method) \(path)")
                    if reply.status == 405 {
                        let allowed = reply.field("Allow")?.uppercased() ?? "missing"
                        probe.expect(allowed.contains("POST"), "405 says what is allowed: \(allowed)")
                    }
                }
            }
        }
        + [
            ServerCase("methods/elsewhere", "other paths don't exist") { probe in
                for path in ["/ofrep/v1", "/ofrep/v1/evaluate", "/ofrep/v9/evaluate/flags", "/OFREP/v1/evaluate/flags"]
                {
                    var ask = Ask.all(probe.context)
                    ask.path = path
                    let status = try await probe.ask(ask).status
                    probe.expect([401, 403, 404, 405].contains(status), "\(path): \(status)")
                }
            },
            ServerCase("methods/unknown", "an unknown method is rejected", writesBytes: true) { probe in
                let heard = try await probe.say(probe.head("FROB") + "Connection: close\r\nContent-Length: 0\r\n\r\n")
                probe.expectStatus(of: heard, [400, 404, 405, 501], mayBeSilent: true, to: "FROB")
            },
        ]
}

extension ServerProbe {
    /// Checks the status line of an answer on a connection that the server then closed.
    func expectStatus(of heard: String, _ statuses: Set<Int>, mayBeSilent: Bool = false, to question: String) {
        if heard.isEmpty {
            expect(mayBeSilent, "\(question): the connection was closed without a word")
            return
        }
        let status =
            heard.hasPrefix("HTTP/1.") ? heard.split(separator: " ").dropFirst().first.flatMap { Int($0) } : nil
        let expected = statuses.sorted().map { String($0) }.joined(separator: ", ")
        expect(status.map(statuses.contains) == true, "\(question): expected \(expected), found \(status ?? 0)")
    }
}
