import NIOCore
import NIOPosix

/// Sends bytes to a server, so that a test can send what no client would.
struct Wire: Sendable {
    let port: Int
    /// What requests name as the host.
    var host = "test"

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

    /// Sends a text a few bytes at a time until the server closes, and returns what it said.
    func drip(_ text: String) async throws -> String {
        let channel = try await open()
        return try await channel.executeThenClose { inbound, outbound in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    var rest = Array(text.utf8)[...]
                    while !rest.isEmpty {
                        do { try await outbound.write(ByteBuffer(bytes: rest.prefix(8))) } catch { return }
                        rest = rest.dropFirst(8)
                    }
                }
                var answer = ""
                do { for try await part in inbound { answer += String(buffer: part) } } catch is IOError {}
                group.cancelAll()
                return answer
            }
        }
    }

    /// Opens connections, sends a text on each, and keeps them while `body` runs.
    func hold<Value>(_ text: String, times: Int, _ body: () async throws -> Value) async throws -> Value {
        var channels: [any Channel] = []
        for _ in 0..<times {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port).get()
            try await channel.writeAndFlush(ByteBuffer(string: text)).get()
            channels.append(channel)
        }
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        for channel in channels { try? await channel.close() }
        return try result.get()
    }

    /// Sends a text repeatedly without reading anything, and returns whether the server closed the connection.
    func isDisconnected(byRepeating text: String) async throws -> Bool {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: port).get()
        // A channel that reads nothing learns of the end only from a write that fails.
        for _ in 0..<10_000 where (try? await channel.writeAndFlush(ByteBuffer(string: text)).get()) == nil {
            return true
        }
        try? await channel.close()
        return false
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
        var lines = ["\(method) \(path) HTTP/1.1", "Host: \(host)", "Connection: close"]
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
