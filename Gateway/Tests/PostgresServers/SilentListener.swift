import Foundation

/// Listens on loopback and never sends anything, like a machine behind a network that drops everything.
public final class SilentListener: Sendable {
    private let listener: Int32
    /// The port that it listens on.
    public let port: Int

    /// Listens on a free port.
    ///
    /// - Throws: ``PostgresServer/Failure``.
    public init() throws {
        let listener = Int32.own(AF_INET)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, size) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, pointer, &size) == 0
            }
        }
        guard status else { throw PostgresServer.Failure(description: "The listener can't listen.") }
        port = Int(UInt16(bigEndian: address.sin_port))
        _ = fcntl(listener, F_SETFL, O_NONBLOCK)
        self.listener = listener
    }

    /// Takes the connections that were made since the last call, and ends them.
    ///
    /// - Returns: How many there were.
    public func takeConnections() -> Int {
        var count = 0
        while case let client = accept(listener, nil, nil), client >= 0 {
            close(client)
            count += 1
        }
        return count
    }

    /// Closes the listener.
    public func stop() { close(listener) }
}
