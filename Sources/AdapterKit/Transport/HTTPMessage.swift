import Experimentation
import HTTPTypes

/// A request with its body, ready to send.
public struct HTTPMessage: Sendable {
    /// The request.
    public var request: HTTPRequest
    /// The body; empty for none.
    public var body: [UInt8]

    /// Creates a message.
    public init(_ request: HTTPRequest, body: [UInt8] = []) {
        self.request = request
        self.body = body
    }
}

extension Endpoint {
    /// Creates a message that posts JSON and expects JSON.
    ///
    /// - Parameters:
    ///   - json: The body; see `JSON.encode(_:)`.
    ///   - segments: As in ``request(_:path:query:headers:endsInSlash:)``.
    ///   - query: The query's items in order; none for no query.
    ///   - headers: Further header fields; `Accept` and `Content-Type` are set unless they are among them.
    /// - Returns: The message.
    public func post(
        json: [UInt8],
        path segments: [String],
        query: [(String, String)] = [],
        headers: HTTPFields = [:]
    ) -> HTTPMessage {
        var fields: HTTPFields = [.accept: "application/json", .contentType: "application/json"]
        for field in headers { fields[field.name] = field.value }
        return HTTPMessage(request(.post, path: segments, query: query, headers: fields), body: json)
    }
}

extension HTTPFields {
    /// Sets a field by its spelling to a value from outside.
    ///
    /// - Throws: ``ErrorCode/configuration`` if no field can have this name, ``ErrorCode/invalidArgument`` if none can
    ///   have this value; the message names the field and not the value.
    public mutating func put(_ value: String, named name: String) throws(ExperimentationError) {
        guard let field = HTTPField.Name(name) else {
            throw ExperimentationError(.configuration, "\"\(name)\" isn't a header field's name")
        }
        try put(value, for: field)
    }
}
