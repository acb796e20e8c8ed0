import NIOCore
import NIOPosix

/// Speaks to a server in bytes, so that a test can say what no client would.
struct Wire: Sendable {
    let port: Int

    /// Sends a text and returns everything that comes until the server closes.
    func talk(_ text: String) async throws -> String {
        let channel = try await open()
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: text))
            var answer = ""
            do {
                for try await part in inbound { answer += String(buffer: part) }
            } catch is IOError {
                // A server that closes while it is being sent to resets the connection.
            }
            return answer
        }
    }

    /// Sends a text and returns what comes until `isEnough` says so.
    func talk(_ text: String, until isEnough: (String) async throws -> Bool) async throws -> String {
        let channel = try await open()
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: text))
            var answer = ""
            for try await part in inbound {
                answer += String(buffer: part)
                if try await isEnough(answer) { break }
            }
            return answer
        }
    }

    private func open() async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture { try NIOAsyncChannel(wrappingChannelSynchronously: channel) }
            }
    }

    /// Makes one request on a connection of its own.
    func request(
        _ method: String,
        _ path: String,
        _ fields: [String: String] = [:],
        _ body: String = ""
    ) async throws -> WireAnswer {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: test", "Connection: close"]
        lines += fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        if method == "POST" { lines.append("Content-Length: \(body.utf8.count)") }
        return WireAnswer(try await talk(lines.joined(separator: "\r\n") + "\r\n\r\n" + body))
    }

    /// Makes one request of a tenant.
    func post(
        _ path: String,
        _ body: String,
        token: String = "t0ken",
        _ fields: [String: String] = [:]
    ) async throws -> WireAnswer {
        let own = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"]
        return try await request("POST", path, own.merging(fields) { $1 }, body)
    }
}

/// An answer, in its parts.
struct WireAnswer: Sendable, Equatable {
    var status = 0
    var fields: [String: String] = [:]
    var body = ""

    init(_ text: String) {
        guard let end = text.firstRange(of: "\r\n\r\n") else { return }
        var lines = text[..<end.lowerBound].split(separator: "\r\n").map(String.init)
        guard !lines.isEmpty else { return }
        status = lines.removeFirst().split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " }) }
        }
        body = String(text[end.upperBound...])
    }
}
