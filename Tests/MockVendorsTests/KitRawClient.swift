import Foundation
import MockVendors

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A client that sends raw bytes and reads until an answer is complete or the server closes.
struct RawClient: Sendable {
    enum Ending: Sendable, Hashable { case complete, closed, reset, refused, mute }

    struct Answer: Sendable {
        var bytes: [UInt8] = []
        var ending: Ending
        var text: String { String(decoding: bytes, as: UTF8.self) }
        var head: String { text.components(separatedBy: "\r\n\r\n").first ?? "" }
        var body: String { text.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n") }
        var status: Int { Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0 }
    }

    let port: Int
    /// The maximum wait for the next byte.
    var patience = 60.0

    /// Sends a request on a new connection.
    func get(_ path: String) async -> Answer { await send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") }

    /// Sends a request with a body on a new connection.
    func send(_ method: String, _ path: String, _ body: String) async -> Answer {
        await send("\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Sends requests on one connection, each after the previous answer is complete.
    func send(_ requests: String...) async -> Answer {
        // Reading blocks, so it has its own thread: the cooperative pool belongs to the server.
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: exchange(requests.map { Array($0.utf8) })) }.start()
        }
    }

    /// Sends a request that isn't text, on a new connection.
    func send(bytes: [UInt8]) async -> Answer {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: exchange([bytes])) }.start()
        }
    }

    private func exchange(_ requests: [[UInt8]]) -> Answer {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        defer { close(descriptor) }
        var limit = timeval()
        limit.tv_sec = Int(patience)
        limit.tv_usec = .init((patience - patience.rounded(.down)) * 1_000_000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return Answer(ending: .refused) }
        var answer = Answer(ending: .complete)
        for request in requests {
            var sent = 0
            while sent < request.count {
                let count = request[sent...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { break }
                sent += count
            }
            answer = read(descriptor, isHead: request.starts(with: Array("HEAD".utf8)))
            guard answer.ending == .complete else { break }
        }
        return answer
    }

    private func read(_ descriptor: Int32, isHead: Bool) -> Answer {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            if let length = completeLength(bytes, isHead: isHead), bytes.count >= length {
                return Answer(bytes: bytes, ending: .complete)
            }
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count == 0 { return Answer(bytes: bytes, ending: .closed) }
            if count < 0 { return Answer(bytes: bytes, ending: errno == ECONNRESET ? .reset : .mute) }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    private func completeLength(_ bytes: [UInt8], isHead: Bool) -> Int? {
        let text = String(decoding: bytes.prefix(4096), as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        let head = text[..<end.lowerBound]
        let headLength = head.utf8.count + 4
        guard !isHead, let field = head.range(of: "Content-Length: ") else { return headLength }
        let length = Int(String(head[field.upperBound...].prefix { $0.isNumber })) ?? 0
        return length > Int.max - headLength ? Int.max : headLength + length
    }
}

/// A vendor that counts and echoes requests.
actor EchoVendor: MockVendor {
    static let name = "echo"
    private(set) var count = 0
    private var greeting = "hello"

    nonisolated var credentials: [String: String] { ["key": "k"] }

    nonisolated func operation(of request: MockRequest) -> String { request.segments.first ?? "unknown" }

    nonisolated func endpoints(at base: String) -> [String: String] { ["main": base + "/v1/"] }

    func respond(to request: MockRequest) -> MockResponse {
        count += 1
        if request.path == "/broken" { return MockResponse(status: 200, fault: .resetAfterApplying) }
        return .json("{\"count\":\(count),\"greeting\":\"\(greeting)\",\"body\":\"\(request.text)\"}")
    }

    func reset() { count = 0 }

    func control(_ request: MockRequest) -> MockResponse? {
        request.path == "/count" ? .json("{\"count\":\(count)}") : nil
    }

    func load(_ world: Data) throws(MockWorldError) {
        let text = String(decoding: world, as: UTF8.self)
        guard !text.isEmpty else { throw MockWorldError("world: empty") }
        greeting = text
    }
}
