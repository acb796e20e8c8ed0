import AdapterKit
import Experimentation

/// A request of a case.
struct Ask: Sendable {
    /// How a request authenticates.
    enum Access: Sendable {
        /// The server's own token, if it has one.
        case usual
        /// Without a token.
        case none
        /// This value of `Authorization`.
        case authorization(Secret)
        /// This value of `X-API-Key`.
        case apiKey(Secret)
    }

    static let flags = "/ofrep/v1/evaluate/flags"

    var method = "POST"
    /// The path below the server's address with an optional query, encoded as sent.
    var path = Self.flags
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []
    var access = Access.usual
    /// Whether the connection closes after the answer.
    var closes = true

    /// Requests all flags for a context.
    static func all(_ context: [String: FlagValue], ifNoneMatch: String? = nil, query: String = "") -> Ask {
        var ask = Ask(path: flags + query, body: body(context))
        ask.fields = [("Content-Type", "application/json")]
        if let ifNoneMatch { ask.fields.append(("If-None-Match", ifNoneMatch)) }
        return ask
    }

    /// Requests one flag for a context.
    ///
    /// - Parameters:
    ///   - key: The key, encoded as sent.
    ///   - context: The context.
    /// - Returns: The request.
    static func one(_ key: String, _ context: [String: FlagValue]) -> Ask {
        var ask = all(context)
        ask.path = "\(flags)/\(key)"
        return ask
    }

    /// Sends a body verbatim.
    static func saying(_ body: String, to path: String = Self.flags) -> Ask { saying(Array(body.utf8), to: path) }

    /// Sends a body verbatim.
    static func saying(_ body: [UInt8], to path: String = Self.flags) -> Ask {
        Ask(path: path, fields: [("Content-Type", "application/json")], body: body)
    }

    /// The body of an evaluation request.
    static func body(_ context: [String: FlagValue]) -> [UInt8] {
        (try? JSON.encode(["context": .object(context)])) ?? []
    }

    /// Percent-encodes a key, except letters, digits and `-._~`.
    static func encoded(_ key: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return key.utf8.reduce(into: "") { text, byte in
            let scalar = Unicode.Scalar(byte)
            if scalar.isASCII,
                scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "-._~".unicodeScalars.contains(scalar)
            {
                text.unicodeScalars.append(scalar)
            } else {
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}

extension Ask {
    /// The header fields that authenticate at a server.
    func accessFields(of server: OFREPServer) -> [(name: String, value: String)] {
        switch access {
        case .usual: server.token.map { [("Authorization", "Bearer \($0.reveal())")] } ?? []
        case .none: []
        case .authorization(let value): [("Authorization", value.reveal())]
        case .apiKey(let value): [("X-API-Key", value.reveal())]
        }
    }

    /// The request encoded in HTTP/1.1.
    func bytes(to server: OFREPServer) -> [UInt8] {
        var lines = ["\(method) \(server.address.path)\(path) HTTP/1.1", "Host: \(server.address.authority)"]
        if closes { lines.append("Connection: close") }
        lines += (accessFields(of: server) + fields).map { "\($0.name): \($0.value)" }
        if method != "GET", method != "HEAD" { lines.append("Content-Length: \(body.count)") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }
}
