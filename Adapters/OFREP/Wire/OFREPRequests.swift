import AdapterKit
import Experimentation
import HTTPTypes

/// The requests of the protocol: values in, a request out.
struct OFREPRequests: Sendable {
    private let configuration: OFREPConfiguration

    init(_ configuration: OFREPConfiguration) { self.configuration = configuration }

    /// Asks for all flags of a user, unless they are those that a validator belongs to.
    ///
    /// - Parameters:
    ///   - validator: The `ETag` of the answer that is held for this very question.
    ///   - event: The event that is the reason for asking, if one is: what it says goes along.
    /// - Returns: The request, without its body.
    /// - Throws: ``ErrorCode/configuration`` or ``ErrorCode/invalidArgument`` for a header field that can't be sent.
    func evaluation(
        unless validator: String?,
        after event: OFREPEvent?
    ) throws(ExperimentationError) -> HTTPRequest {
        var headers = try ownFields()
        headers[.accept] = "application/json"
        headers[.contentType] = "application/json"
        if let validator { headers[.ifNoneMatch] = validator }
        var query: [(String, String)] = []
        if let etag = event?.etag { query.append(("flagConfigEtag", etag)) }
        if let date = event?.lastModified { query.append(("flagConfigLastModified", date)) }
        return configuration.baseURL.request(
            .post,
            path: ["ofrep", "v1", "evaluate", "flags"],
            query: query,
            headers: headers
        )
    }

    /// Opens an event stream.
    ///
    /// The credentials go to the server's own address alone; a stream elsewhere has its own in its address.
    func stream(_ stream: OFREPStream, after eventID: String?) throws(ExperimentationError) -> HTTPRequest {
        var headers = stream.isOf(configuration.baseURL) ? try ownFields() : HTTPFields()
        headers[.accept] = "text/event-stream"
        headers[.cacheControl] = "no-cache"
        if let eventID, HTTPField.isValidValue(eventID) { headers[Self.lastEventID] = eventID }
        return HTTPRequest(
            method: .get,
            scheme: stream.scheme,
            authority: stream.authority,
            path: stream.path,
            headerFields: headers
        )
    }

    /// Where a server's relative stream addresses begin.
    var baseURL: Endpoint { configuration.baseURL }

    private static let lastEventID = HTTPField.Name("Last-Event-ID") ?? .accept
    private static let apiKey = HTTPField.Name("X-API-Key") ?? .authorization

    private func ownFields() throws(ExperimentationError) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in configuration.headers {
            guard let name = HTTPField.Name(name) else {
                throw ExperimentationError(.configuration, "OFREP: headers: \"\(name)\" is no name of a field")
            }
            try fields.put(value.reveal(), for: name)
        }
        if let token = configuration.token { try fields.put("Bearer \(token.reveal())", for: .authorization) }
        if let key = configuration.apiKey { try fields.put(key.reveal(), for: Self.apiKey) }
        return fields
    }
}
