import AdapterKit
import Experimentation

extension ServerCase {
    /// Server-sent events that tell clients when to evaluate again.
    static let streams: [ServerCase] = [
        ServerCase("streams/named", "each stream has a type and one URL", features: [.eventStreams]) { probe in
            for stream in probe.survey.streams {
                guard case .object(let members) = stream else { return probe.fail("a stream that is no object") }
                probe.expect(members["type"]?.stringValue != nil, "a stream without a type")
                probe.expect((members["url"] != nil) != (members["endpoint"] != nil), "not one of url and endpoint")
                if case .object(let endpoint)? = members["endpoint"] {
                    let target = endpoint["requestUri"]?.stringValue
                    probe.expect(target?.hasPrefix("/") == true, "requestUri: \(target ?? "missing")")
                    probe.expect(endpoint["origin"] != "", "an origin that is empty; it is left out then")
                }
                if let delay = members["inactivityDelaySec"] {
                    probe.expect((delay.intValue ?? 0) >= 1, "inactivityDelaySec: \(AnyJSON.text(delay))")
                }
            }
        },
        ServerCase(
            "streams/opens",
            "a stream answers 200 with the right content type",
            features: [.eventStreams],
            writesBytes: true
        ) { probe in
            let head = try await probe.listen { try await $0.head() }
            probe.expect(head?.status == 200, "the stream: \(head?.status ?? 0)")
            let type = head?.field("Content-Type") ?? "missing"
            probe.expect(type.lowercased().hasPrefix("text/event-stream"), "Content-Type: \(type)")
        },
        ServerCase(
            "streams/kept-by-nobody",
            "a stream may not be cached",
            features: [.eventStreams],
            writesBytes: true
        ) { probe in
            let head = try await probe.listen { try await $0.head() }
            let rule = head?.field("Cache-Control")?.lowercased() ?? ""
            probe.expect(rule.contains("no-store") || rule.contains("no-cache"), "Cache-Control: \(rule)")
        },
        ServerCase(
            "streams/stays",
            "an idle stream stays open",
            features: [.eventStreams],
            writesBytes: true
        ) { probe in
            let stays = try await probe.listen { connection in
                _ = try await connection.head()
                return try await connection.staysOpen(for: .milliseconds(300))
            }
            probe.expect(stays, "it ended")
        },
        ServerCase(
            "streams/change",
            "a change is announced, without any value",
            features: [.eventStreams],
            writesBytes: true
        ) { probe in
            guard let change = probe.declaration.change else {
                throw probe.skip("no way to make a change is declared")
            }
            let event = try await probe.listen { connection in
                _ = try await connection.head()
                try await change.fire()
                return try await connection.event()
            }
            probe.expect(event.name == nil || event.name == "message", "event: \(event.name ?? "")")
            guard case .object(let members)? = event.data.flatMap({ try? JSON.parse(Array($0.utf8)) }) else {
                return probe.fail("data that is no object")
            }
            probe.expect(
                members["type"] == "refetchEvaluation",
                "type: \(members["type"].map(AnyJSON.text) ?? "missing")"
            )
            let known: Set<String> = ["type", "etag", "lastModified"]
            probe.expect(Set(members.keys).isSubset(of: known), "an event carries more than the fact: \(members.keys)")
        },
        ServerCase(
            "streams/again",
            "a reconnect is accepted, whatever its Last-Event-ID",
            features: [.eventStreams],
            writesBytes: true
        ) { probe in
            let head = try await probe.listen("Last-Event-ID: 17\r\n") { try await $0.head() }
            probe.expect(head?.status == 200, "Last-Event-ID: \(head?.status ?? 0)")
        },
        ServerCase(
            "streams/strangers",
            "a stream's URL alone doesn't give access",
            features: [.eventStreams],
            writesBytes: true
        ) { probe in
            try probe.needToken()
            let path = try probe.streamPath().prefix { $0 != "?" }
            let head = try await probe.connect { connection in
                try await connection.send("GET \(path) HTTP/1.1\r\nHost: \(probe.server.address.authority)\r\n\r\n")
                return try await connection.head()
            }
            probe.expect([401, 403, 404].contains(head?.status ?? 0), "a stranger: \(head?.status ?? 0)")
        },
        ServerCase("streams/method", "POST to a stream is rejected", features: [.eventStreams], writesBytes: true) {
            probe in
            var head = try probe.head("POST", probe.streamPath())
            head += "Connection: close\r\nContent-Length: 0\r\n\r\n"
            let request = head
            let reply = try await probe.connect { connection in
                try await connection.send(request)
                return try await connection.head()
            }
            probe.expect([404, 405].contains(reply?.status ?? 0), "POST: \(reply?.status ?? 0)")
        },
        ServerCase(
            "streams/left",
            "listeners that disconnect abruptly leave nothing behind",
            features: [.eventStreams],
            writesBytes: true
        ) { probe in
            for _ in 0..<20 { _ = try await probe.listen { try await $0.head() } }
            try await probe.expectAlive()
        },
    ]
}

extension ServerProbe {
    /// The path of the first stream on the server itself.
    func streamPath() throws -> String {
        for case .object(let members) in survey.streams where members["type"] == "sse" {
            if case .object(let endpoint)? = members["endpoint"], endpoint["origin"] == nil,
                let path = endpoint["requestUri"]?.stringValue
            {
                return path
            }
            let own = "\(server.address.scheme)://\(server.address.authority)/"
            if let url = members["url"]?.stringValue, url.hasPrefix(own) { return String(url.dropFirst(own.count - 1)) }
        }
        throw skip("its streams stand on another server")
    }

    /// Opens the event stream.
    func listen<Value: Sendable>(
        _ fields: String = "",
        _ body: (Connection) async throws -> Value
    ) async throws -> Value {
        let access = Ask().accessFields(of: server).map { "\($0.name): \($0.value)\r\n" }.joined()
        let path = try streamPath()
        return try await connect { connection in
            try await connection.send(
                "GET \(path) HTTP/1.1\r\nHost: \(server.address.authority)\r\nAccept: text/event-stream\r\n\(access)\(fields)\r\n"
            )
            return try await body(connection)
        }
    }
}
