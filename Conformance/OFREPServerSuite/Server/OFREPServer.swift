import AdapterKit
import Experimentation

/// A server to be tried: where it listens, what opens it, and what is said of it.
public struct OFREPServer: Sendable {
    /// The name in reports.
    public var name: String
    /// The address: whatever comes before `/ofrep`.
    public var address: Endpoint
    /// The bearer token; `nil` for a server that lets everybody in.
    public var token: Secret?
    /// What the server has, as whoever runs it says.
    public var declaration: ServerDeclaration

    /// Creates a server to be tried.
    ///
    /// - Parameters:
    ///   - address: The address: whatever comes before `/ofrep`. Over `https` cases that write bytes of their own are skipped.
    ///   - token: The bearer token; `nil` for a server that lets everybody in.
    ///   - name: The name in reports; the address unless named.
    ///   - declaration: What the server has; found out as far as it can be where nothing is said.
    public init(
        _ address: Endpoint,
        token: Secret? = nil,
        name: String? = nil,
        declaration: ServerDeclaration = ServerDeclaration()
    ) {
        self.address = address
        self.token = token
        self.name = name ?? "\(address.scheme)://\(address.authority)\(address.path)"
        self.declaration = declaration
    }

    /// Whether bytes can be written to it as they are.
    var takesBytes: Bool { address.scheme == "http" }

    /// The host and port to connect to.
    var peer: (host: String, port: Int) {
        let host = address.host.hasPrefix("[") ? String(address.host.dropFirst().dropLast()) : address.host
        return (host, address.port ?? 80)
    }
}
