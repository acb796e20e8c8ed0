import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A server that handles each connection as a test says, byte by byte.
///
/// Each connection has its own thread, so that blocking doesn't take threads from the cooperative pool.
final class RawServer: Sendable {
    let port: Int
    private let listener: Int32
    private let state = Mutex(State())

    private struct State {
        var received: [String] = []
        var bytesSent = 0
        var open: Set<Int32> = []
        var isStopped = false
        var isListening = true
    }

    /// The received requests, head and body.
    var received: [String] { state.withLock { $0.received } }

    /// The number of bytes written to all connections.
    var bytesSent: Int { state.withLock { $0.bytesSent } }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Listens on a free port.
    ///
    /// - Parameter handler: Handles a connection, which is closed afterwards.
    /// - Throws: The system's error.
    init(_ handler: @escaping @Sendable (RawConnection) -> Void) throws {
        #if canImport(Glibc)
            listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            listener = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 128) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard bound else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread { [self] in accept(handler) }.start()
    }

    /// Closes the listener and all connections.
    func stop() {
        // Under the lock, because the number of a closed descriptor is soon reused.
        state.withLock { state in
            state.isStopped = true
            if state.isListening { shutdown(listener, Int32(SHUT_RDWR)) }
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func accept(_ handler: @escaping @Sendable (RawConnection) -> Void) {
        while true {
            #if canImport(Glibc)
                let descriptor = Glibc.accept(listener, nil, nil)
            #else
                let descriptor = Darwin.accept(listener, nil, nil)
            #endif
            guard descriptor >= 0 else { break }
            let isStopped = state.withLock { state in
                if !state.isStopped { state.open.insert(descriptor) }
                return state.isStopped
            }
            guard !isStopped else {
                close(descriptor)
                break
            }
            var yes: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
            Thread { [self] in
                handler(RawConnection(descriptor: descriptor, server: self))
                state.withLock { state in
                    state.open.remove(descriptor)
                    close(descriptor)
                }
            }.start()
        }
        state.withLock { state in
            state.isListening = false
            close(listener)
        }
    }

    fileprivate func note(received text: String) { state.withLock { $0.received.append(text) } }
    fileprivate func note(sent count: Int) { state.withLock { $0.bytesSent += count } }
}

/// A connection of a ``RawServer``.
struct RawConnection: Sendable {
    let descriptor: Int32
    let server: RawServer

    /// Reads and records one request, head and body; `nil` if the client closed before it was complete.
    @discardableResult
    func readRequest() -> String? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            if let end = Self.end(of: bytes), bytes.count >= end {
                let text = String(decoding: bytes, as: UTF8.self)
                server.note(received: text)
                return text
            }
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else {
                if !bytes.isEmpty { server.note(received: String(decoding: bytes, as: UTF8.self)) }
                return nil
            }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// Sends bytes; returns `false` if the client is gone.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { buffer in
                #if canImport(Glibc)
                    Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                #else
                    Darwin.send(descriptor, buffer.baseAddress, buffer.count, 0)
                #endif
            }
            guard count > 0 else { return false }
            sent += count
            server.note(sent: count)
        }
        return true
    }

    /// Sends text.
    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Waits until the client closes.
    func waitForClose() {
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) > 0 {}
    }

    /// Makes the next close a reset.
    func resetOnClose() {
        var value = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    private static func end(of bytes: [UInt8]) -> Int? {
        guard let blank = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let head = String(decoding: bytes[..<blank.lowerBound], as: UTF8.self).lowercased()
        let length = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) }
        return blank.upperBound + (length ?? 0)
    }
}
