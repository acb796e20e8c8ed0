import Experimentation
import HTTPTypes
import Synchronization

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
        try checkOrigin()
        try checkPath()
        try checkFields()
        return self
    }

    private func checkOrigin() throws(ExperimentationError) {
        guard let scheme, let authority, path != nil else {
            throw ExperimentationError(.invalidArgument, "a request needs a scheme, an authority and a path")
        }
        // The same rules as for a configured address, so that a request built by hand can't bypass them.
        let endpoint = try Endpoint("\(scheme)://\(authority)")
        guard endpoint.path.isEmpty, endpoint.authority == authority.lowercased() else {
            throw ExperimentationError(.configuration, "an authority is a host and perhaps a port")
        }
    }

    fileprivate func checkPath() throws(ExperimentationError) {
        let path = path ?? ""
        let mark = path.utf8.firstIndex(of: UInt8(ascii: "?"))
        if let reason = PathRules.objection(to: path[..<(mark ?? path.endIndex)]) {
            throw ExperimentationError(.invalidArgument, "the request's path \(reason)")
        }
        if let mark, let reason = PathRules.objection(toQuery: path[path.utf8.index(after: mark)...]) {
            throw ExperimentationError(.invalidArgument, "the request's query \(reason)")
        }
    }

    private func checkFields() throws(ExperimentationError) {
        for field in headerFields {
            if field.name.isReserved {
                throw ExperimentationError(.invalidArgument, "the field \(field.name) is the engine's to set")
            }
            guard field.value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }) else {
                throw ExperimentationError(.invalidArgument, "the value of \(field.name) holds a control character")
            }
        }
    }

    /// The whole address, for an engine that needs a string.
    public var address: String { "\(scheme ?? "")://\(authority ?? "")\(path ?? "")" }
}

/// Checks an engine's requests, and remembers what has been checked: nearly all of them go to the same host with the
/// same fields.
final class RequestChecks: Sendable {
    private struct Known {
        let scheme: String?
        let authority: String?
        let fields: HTTPFields
    }

    private let known = Mutex<Known?>(nil)

    /// Returns a request if it can be sent, as `HTTPRequest.validated()` does.
    func validated(_ request: HTTPRequest) throws(ExperimentationError) -> HTTPRequest {
        // Checking again costs less than waiting for another caller.
        let isKnown = known.withLockIfAvailable { known in
            guard let known else { return false }
            // By bytes: the Kelvin sign equals a K in Swift.
            return known.scheme == request.scheme && request.path != nil
                && (known.authority ?? "").utf8.elementsEqual((request.authority ?? "").utf8)
                && known.fields.isWritten(as: request.headerFields)
        }
        guard isKnown == true else {
            let valid = try request.validated()
            _ = known.withLockIfAvailable {
                $0 = Known(scheme: valid.scheme, authority: valid.authority, fields: valid.headerFields)
            }
            return valid
        }
        try request.checkPath()
        return request
    }
}

extension HTTPField.Name {
    /// Fields that determine how a message is framed and where it goes.
    private static let reserved: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
        "accept-encoding", "content-encoding",
    ]

    /// Whether the engine alone sets this field.
    var isReserved: Bool { Self.reserved.contains(canonicalName) || canonicalName.hasPrefix("proxy-") }
}

extension HTTPFields {
    /// Whether these fields are identical to others, in spelling and order.
    func isWritten(as others: HTTPFields) -> Bool {
        count == others.count
            && zip(self, others).allSatisfy { field, other in
                // Two strings that are equal in Swift may still differ in bytes.
                field.name.rawName == other.name.rawName && field.value.utf8.elementsEqual(other.value.utf8)
            }
    }

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
