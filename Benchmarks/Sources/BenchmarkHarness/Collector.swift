import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A server that answers every request at once with an empty 200, on one thread for each connection.
public final class Collector: Sendable {
    /// Where it listens, on 127.0.0.1.
    public let port: UInt16
    private let descriptor: Int32

    /// Starts it; it serves as long as the process lives.
    public init() {
        #if canImport(Glibc)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        descriptor = socket(AF_INET, stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                precondition(bind(descriptor, address, length) == 0)
                precondition(listen(descriptor, 64) == 0)
                getsockname(descriptor, address, &length)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread {
            while true {
                let connection = accept(descriptor, nil, nil)
                if connection < 0 { return }
                var on: Int32 = 1
                setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
                Thread.detachNewThread { Self.serve(connection) }
            }
        }
    }

    private static func serve(_ connection: Int32) {
        let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var head: [UInt8] = []
        var bodyLeft = 0
        while true {
            let count = read(connection, &buffer, buffer.count)
            if count <= 0 { break }
            var rest = buffer[..<count]
            while !rest.isEmpty {
                if bodyLeft > 0 {
                    let part = min(bodyLeft, rest.count)
                    rest = rest.dropFirst(part)
                    bodyLeft -= part
                    if bodyLeft == 0 { _ = write(connection, answer, answer.count) }
                    continue
                }
                head.append(rest.removeFirst())
                guard head.suffix(4) == [13, 10, 13, 10] else { continue }
                let text = String(decoding: head, as: UTF8.self).lowercased()
                head = []
                if text.contains("expect: 100-continue") {
                    let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
                    _ = write(connection, goOn, goOn.count)
                }
                let length = text.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                bodyLeft = length.flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
                if bodyLeft == 0 { _ = write(connection, answer, answer.count) }
            }
        }
        close(connection)
    }
}
