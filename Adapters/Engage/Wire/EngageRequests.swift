import AdapterKit
import Experimentation
import HTTPTypes

/// Builds the three kinds of requests: for a token, for the XML interface, for behaviors.
struct EngageRequests: Sendable {
    let endpoint: Endpoint

    /// Requests an access token; all four fields go in the form, without basic authorization.
    func token(_ credentials: EngageConfiguration.Credentials) -> HTTPMessage {
        let fields = [
            ("grant_type", "refresh_token"), ("client_id", credentials.clientID),
            ("client_secret", credentials.clientSecret.reveal()),
            ("refresh_token", credentials.refreshToken.reveal()),
        ]
        return form(fields, path: ["oauth", "token"], headers: [.accept: "application/json"])
    }

    /// Sends a document of the XML interface: a form with the single field `xml`, not the document itself.
    func xmlapi(_ envelope: String, token: String) -> HTTPMessage {
        form([("xml", envelope)], path: ["XMLAPI"], headers: [.authorization: "Bearer \(token)"])
    }

    /// Submits behaviors.
    func behaviors(_ json: [UInt8], token: String) -> HTTPMessage {
        endpoint.post(
            json: json,
            path: ["rest", "events", "submission"],
            headers: [.authorization: "Bearer \(token)"]
        )
    }

    private func form(_ fields: [(String, String)], path: [String], headers: HTTPFields) -> HTTPMessage {
        var headers = headers
        headers[.contentType] = "application/x-www-form-urlencoded; charset=utf-8"
        return HTTPMessage(
            endpoint.request(.post, path: path, headers: headers),
            body: Array(PercentEncoding.form(fields).utf8)
        )
    }
}
