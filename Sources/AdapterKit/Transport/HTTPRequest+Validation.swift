import Experimentation
import HTTPTypes

extension HTTPRequest {
    /// Returns this request if it can be sent as it is, and throws otherwise; engines call it before they connect.
    ///
    /// It refuses what would change where the request goes or how it is framed: a scheme other than `https` (or `http`
    /// to loopback), a user in the authority, a path that isn't encoded or has dot or empty segments, fields that the
    /// engine itself sets, values with control characters.
    ///
    /// - Throws: ``ErrorCode/configuration`` for the address, ``ErrorCode/invalidArgument`` for the rest; messages name
    ///   the field, never its value.
    public func validated() throws(ExperimentationError) -> HTTPRequest {
        guard let scheme, let authority, let path else {
            throw ExperimentationError(.invalidArgument, "a request needs a scheme, an authority and a path")
        }
        // The same rules as for a configured address, so that a request built by hand can't bypass them.
        let endpoint = try Endpoint("\(scheme)://\(authority)")
        guard endpoint.path.isEmpty, endpoint.authority == authority.lowercased() else {
            throw ExperimentationError(.configuration, "an authority is a host and perhaps a port")
        }
        let mark = path.utf8.firstIndex(of: UInt8(ascii: "?"))
        if let reason = PathRules.objection(to: path[..<(mark ?? path.endIndex)]) {
            throw ExperimentationError(.invalidArgument, "the request's path \(reason)")
        }
        if let mark, let reason = PathRules.objection(toQuery: path[path.utf8.index(after: mark)...]) {
            throw ExperimentationError(.invalidArgument, "the request's query \(reason)")
        }
        for field in headerFields {
            let name = field.name.canonicalName
            if reservedFields.contains(name) || name.hasPrefix("proxy-") {
                throw ExperimentationError(.invalidArgument, "the field \(field.name) is the engine's to set")
            }
            guard field.value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }) else {
                throw ExperimentationError(.invalidArgument, "the value of \(field.name) holds a control character")
            }
        }
        return self
    }

    /// The whole address, for an engine that needs a string.
    public var address: String { "\(scheme ?? "")://\(authority ?? "")\(path ?? "")" }
}

/// Fields that determine how a message is framed and where it goes.
private let reservedFields: Set<String> = [
    "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
    "accept-encoding", "content-encoding",
]

extension HTTPFields {
    /// Sets a field to an outside value, or throws if the value isn't valid in a field.
    ///
    /// The plain subscript silently replaces control characters by spaces, so a token with a stray line break would be
    /// sent damaged.
    ///
    /// - Throws: ``ErrorCode/invalidArgument``, naming the field and not the value.
    public mutating func put(_ value: String, for name: HTTPField.Name) throws(ExperimentationError) {
        guard HTTPField.isValidValue(value) else {
            throw ExperimentationError(.invalidArgument, "the value of \(name) isn't valid in a header field")
        }
        self[name] = value
    }
}
