import AdapterKit
import Experimentation
import HTTPTypes

/// Builds the requests of the protocol; pure.
struct OFREPRequests: Sendable {
    private let configuration: OFREPConfiguration

    init(_ configuration: OFREPConfiguration) { self.configuration = configuration }

    /// Requests all flags of a user, unless they still match a validator.
    ///
    /// - Parameters:
    ///   - validator: The `ETag` of the cached answer to this very question.
    ///   - event: The event that caused the request, if any; its validator and date are sent along.
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

    /// Sends events to a server that accepts them.
    ///
    /// - Parameter events: The events, in the form that `docs/schemas/gateway-events.schema.json` defines.
    /// - Returns: The message.
    /// - Throws: ``ErrorCode/configuration`` for a header field that can't be sent; ``ErrorCode/invalidArgument`` for
    ///   values that JSON can't represent.
    func events(_ events: [FlagValue]) throws(ExperimentationError) -> HTTPMessage {
        configuration.baseURL.post(
            json: try JSON.encode(["events": .array(events)]),
            path: configuration.eventsSegments ?? [],
            headers: try ownFields()
        )
    }

    /// Opens an event stream.
    ///
    /// Credentials are sent only to the server's own address; streams elsewhere carry theirs in the URL.
    func stream(_ stream: OFREPStream, after eventID: String?) throws(ExperimentationError) -> HTTPRequest {
        var headers = stream.isOf(configuration.baseURL) ? try ownFields() : HTTPFields()
        headers[.accept] = "text/event-stream"
        headers[.cacheControl] = "no-cache"
        // A server sends an empty id so that the client sends none.
        if let eventID, !eventID.isEmpty, HTTPField.isValidValue(eventID) {
            try headers.put(eventID, named: "Last-Event-ID")
        }
        return HTTPRequest(
            method: .get,
            scheme: stream.scheme,
            authority: stream.authority,
            path: stream.path,
            headerFields: headers
        )
    }

    /// The base of relative stream addresses.
    var baseURL: Endpoint { configuration.baseURL }

    private func ownFields() throws(ExperimentationError) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in configuration.headers { try fields.put(value.reveal(), named: name) }
        if let token = configuration.token { try fields.put("Bearer \(token.reveal())", for: .authorization) }
        if let key = configuration.apiKey { try fields.put(key.reveal(), named: "X-API-Key") }
        return fields
    }
}
