import Experimentation
import HTTPTypes

/// A base address for requests: `https`, or `http` to this machine only.
///
/// An address is accepted only if it can be read in just one way: no user, no query, no fragment, no dot segments, no
/// unusual notation of an IP address. What requests add to it is encoded, so that an id can't change where they go.
///
/// ```swift
/// let endpoint = try Endpoint("https://decision.example.com/v2/")
/// let request = endpoint.request(.post, path: [environmentID, "campaigns"], query: [("exposeAllKeys", "true")])
/// ```
public struct Endpoint: Sendable, Hashable {
    /// `https`, or `http` for loopback.
    public let scheme: String
    /// The host, in lower case; an IPv6 address in brackets.
    public let host: String
    /// The port, if stated.
    public let port: Int?
    /// The path without a trailing slash; empty for the root.
    public let path: String

    /// Parses an address.
    ///
    /// - Throws: `ErrorCode.configuration` with the reason; the message repeats at most the host, since an address
    ///   may hold a password.
    public init(_ address: String) throws(ExperimentationError) {
        guard let colon = address.utf8.firstIndex(of: UInt8(ascii: ":")),
            address.utf8[colon...].starts(with: "://".utf8)
        else { throw Self.refusal("an address begins with https://") }
        let scheme = address[..<colon].lowercased()
        guard scheme == "https" || scheme == "http" else {
            throw Self.refusal("an address begins with https://, not with another scheme")
        }
        let rest = address[address.utf8.index(colon, offsetBy: 3)...]
        let end = rest.utf8.firstIndex { byte in
            byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
                || byte == UInt8(ascii: "\\")
        }
        let authority = rest[..<(end ?? rest.endIndex)]
        guard !authority.utf8.contains(UInt8(ascii: "@")) else {
            throw Self.refusal("an address holds no user and no password")
        }
        let (host, port) = try Self.split(authority)
        try HostRules.check(host)
        let path = rest[authority.endIndex...]
        guard !path.utf8.contains(UInt8(ascii: "?")), !path.utf8.contains(UInt8(ascii: "#")) else {
            throw Self.refusal("the address of \(host) holds a query or a fragment")
        }
        guard scheme == "https" || HostRules.isLoopback(host) else {
            throw Self.refusal("plain http is for loopback only; use https for \(host)")
        }
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = try Self.trimmed(path, host: host)
    }

    /// Creates an `https` address from constants of an adapter, whose tests compare it with ``init(_:)``.
    ///
    /// - Parameters:
    ///   - host: The host, in lower case.
    ///   - path: The path, which begins with a slash and doesn't end in one; empty for the root.
    public init(https host: StaticString, path: StaticString = "") {
        scheme = "https"
        self.host = host.description
        port = nil
        self.path = path.description
    }

    /// The host, with the port if stated.
    public var authority: String { port.map { "\(host):\($0)" } ?? host }

    /// Creates a request below this address.
    ///
    /// Every segment, name and value is percent-encoded. A segment that is empty, `.` or `..` has no form that every
    /// server reads as an id; sending such a request fails with `ErrorCode.invalidArgument`.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - segments: The segments below the address; none for the address itself.
    ///   - query: The query's items in order; none for no query.
    ///   - headers: The header fields; see `HTTPTypes.HTTPFields.put(_:for:)` for values that come from outside.
    ///   - endsInSlash: Whether the path ends in a slash.
    /// - Returns: The request.
    public func request(
        _ method: HTTPRequest.Method,
        path segments: [String] = [],
        query: [(String, String)] = [],
        headers: HTTPFields = [:],
        endsInSlash: Bool = false
    ) -> HTTPRequest {
        var target = path
        for segment in segments {
            // The validation refuses a lone dot; an empty last segment would pass.
            target += "/" + (segment.isEmpty ? "." : PercentEncoding.encode(segment))
        }
        if target.isEmpty || endsInSlash { target += "/" }
        if !query.isEmpty { target += "?" + PercentEncoding.form(query) }
        return HTTPRequest(method: method, scheme: scheme, authority: authority, path: target, headerFields: headers)
    }

    private static func refusal(_ reason: String) -> ExperimentationError {
        ExperimentationError(.configuration, reason)
    }

    private static func split(_ authority: Substring) throws(ExperimentationError) -> (host: String, port: Int?) {
        var host = authority
        var port: Substring?
        if authority.utf8.first == UInt8(ascii: "[") {
            guard let end = authority.utf8.firstIndex(of: UInt8(ascii: "]")) else {
                throw refusal("an IPv6 address ends with ]")
            }
            host = authority[...end]
            let rest = authority[authority.utf8.index(after: end)...]
            guard rest.isEmpty || rest.utf8.first == UInt8(ascii: ":") else {
                throw refusal("only a port follows an IPv6 address")
            }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = authority.utf8.firstIndex(of: UInt8(ascii: ":")) {
            host = authority[..<colon]
            port = authority[authority.utf8.index(after: colon)...]
        }
        guard let port else { return (host.lowercased(), nil) }
        guard port.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt16(port), number > 0
        else { throw refusal("a port is a number from 1 to 65535") }
        return (host.lowercased(), Int(number))
    }

    private static func trimmed(_ path: Substring, host: String) throws(ExperimentationError) -> String {
        let trimmed = path.hasSuffix("/") ? path.dropLast() : path
        guard !trimmed.isEmpty else { return "" }
        guard !trimmed.hasSuffix("/") else { throw refusal("the path of \(host) holds an empty segment") }
        if let reason = PathRules.objection(to: trimmed) { throw refusal("the path of \(host) \(reason)") }
        return String(trimmed)
    }
}

extension Endpoint: CustomStringConvertible {
    /// The address in its normalized form.
    public var description: String { "\(scheme)://\(authority)\(path)" }
}
