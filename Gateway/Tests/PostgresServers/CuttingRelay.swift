import Foundation
import Synchronization

extension Int32 {
    /// A new socket of this process alone: a server that this process restarts would keep it open.
    static func own(_ family: Int32) -> Int32 {
        socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }
}

/// Relays between a client and the server's socket, and cuts the connection after a commit: the server carries it out, and the
/// client never gets an answer.
public final class CuttingRelay: Sendable {
    private let listener: Int32
    private let server: PostgresServer
    private let folder: String
    private let left = Mutex(0)
    private let isParted = Atomic<Bool>(false)
    private let partsAtCut = Atomic<Bool>(false)

    /// How clients reach the database through it.
    public var url: String { "postgresql:///postgres?host=\(folder)&user=postgres" }

    /// Listens on a socket of its own.
    ///
    /// - Parameter server: Where everything goes.
    /// - Throws: ``PostgresServer/Failure``.
    public init(to server: PostgresServer) throws {
        self.server = server
        folder = "/tmp/pg-relay-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        listener = .own(AF_UNIX)
        guard Self.withAddress(folder, { bind(listener, $0, $1) }) == 0, listen(listener, 16) == 0 else {
            throw PostgresServer.Failure(description: "The relay can't listen.")
        }
        Thread.detachNewThread { [self] in serve() }
    }

    /// Cuts the connections after the next commits.
    ///
    /// - Parameters:
    ///   - count: How many commits.
    ///   - andParts: Whether to part the two sides at that moment instead, as ``part(_:)`` does.
    public func cut(_ count: Int, andParts: Bool = false) {
        partsAtCut.store(andParts, ordering: .relaxed)
        left.withLock { $0 = count }
    }

    /// How many cuts are still to come.
    public var cutsLeft: Int { left.withLock { $0 } }

    /// Parts the two sides: nothing passes, nothing is refused, and neither side notices.
    public func part(_ isParted: Bool) { self.isParted.store(isParted, ordering: .relaxed) }

    /// Closes the relay.
    public func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func serve() {
        while true {
            let client = accept(listener, nil, nil)
            if client < 0 { return }
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            let far = Int32.own(AF_UNIX)
            guard Self.withAddress(server.sockets, { connect(far, $0, $1) }) == 0 else {
                close(client)
                close(far)
                continue
            }
            Thread.detachNewThread { [self] in pass(client, far) }
        }
    }

    /// Passes bytes on in both directions until one side ends.
    private func pass(_ client: Int32, _ far: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var isCut = false
        while true {
            var sockets = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: far, events: Int16(POLLIN), revents: 0),
            ]
            let isParted = isParted.load(ordering: .relaxed)
            // Checked each time, because no socket reports whether the sides are parted.
            let count = poll(&sockets, isParted ? 0 : 2, 50)
            if count < 0, errno != EINTR { break }
            if count <= 0 { continue }
            if sockets[0].revents != 0 {
                let count = read(client, &buffer, buffer.count)
                if count <= 0 { break }
                if Data(buffer[..<count]).range(of: Data("COMMIT\0".utf8)) != nil {
                    isCut = left.withLock { left in
                        guard left > 0 else { return false }
                        left -= 1
                        return true
                    }
                }
                if !Self.pass(buffer, count, to: far) { break }
                if isCut, partsAtCut.exchange(false, ordering: .relaxed) {
                    part(true)
                    continue
                }
            }
            if sockets[1].revents != 0 {
                let count = read(far, &buffer, buffer.count)
                // The data after a commit is the answer to it, so it has been carried out.
                if count <= 0 || isCut || !Self.pass(buffer, count, to: client) { break }
            }
        }
        close(client)
        close(far)
    }

    /// Writes to a socket whose other side may be gone, which must not end this process.
    private static func pass(_ bytes: [UInt8], _ count: Int, to socket: Int32) -> Bool {
        var sent = 0
        while sent < count {
            let some = bytes[sent..<count].withUnsafeBytes {
                send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if some <= 0 { return false }
            sent += some
        }
        return true
    }

    private static func withAddress(_ folder: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            for (place, byte) in "\(folder)/.s.PGSQL.5432".utf8.enumerated() where place < path.count - 1 {
                path[place] = byte
            }
        }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
