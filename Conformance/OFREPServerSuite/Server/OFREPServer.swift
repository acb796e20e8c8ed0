import AdapterKit
import Experimentation

/// A server to test: its address, its token, and what is declared about it.
public struct OFREPServer: Sendable {
    /// The name in reports.
    public var name: String
    /// The address: everything before `/ofrep`.
    public var address: Endpoint
    /// The bearer token; `nil` for a server that requires none.
    public var token: Secret?
    /// What its operator declares about it.
    public var declaration: ServerDeclaration

    /// Creates a server to test.
    ///
    /// - Parameters:
    ///   - address: The address: everything before `/ofrep`. With `https`, cases that write raw bytes are skipped.
    ///   - token: The bearer token; `nil` for a server that requires none.
    ///   - name: The name in reports; the address by default.
    ///   - declaration: What its operator declares; anything missing is detected as far as possible.
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

    /// Whether raw bytes can be sent to it.
    var takesBytes: Bool { address.scheme == "http" }

    /// The host and port to connect to.
    var peer: (host: String, port: Int) {
        let host = address.host.hasPrefix("[") ? String(address.host.dropFirst().dropLast()) : address.host
        return (host, address.port ?? 80)
    }
}
