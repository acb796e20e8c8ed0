#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reserves a port, whether or not a server listens on it.
///
/// A socket that is bound but doesn't listen refuses connections as an absent server does, and the system assigns the
/// port to no other socket, so that a server can leave it and return.
final class PortKeeper: Sendable {
    private let descriptor: Int32
    /// The port.
    let port: Int

    /// Binds a socket to the port, or to a free one for 0; `nil` if that fails, in which case nothing is reserved.
    init?(host: String, port: Int) {
        guard let number = UInt16(exactly: port) else { return nil }
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { return nil }
        var yes: Int32 = 1
        // Inherited, it would keep the port for as long as a child process runs.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = number.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}
