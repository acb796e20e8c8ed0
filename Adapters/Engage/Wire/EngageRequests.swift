import AdapterKit
import Experimentation
import HTTPTypes

/// A request with its body, ready to send.
struct EngageExchange: Sendable {
    var request: HTTPRequest
    var body: [UInt8]
}

/// Builds the three kinds of requests: for a token, for the XML interface, for behaviours.
struct EngageRequests: Sendable {
    let endpoint: Endpoint

    private func post(_ path: String...) -> HTTPRequest { endpoint.request(.post, path: path) }

    /// Requests an access token; all four fields go in the form, without basic authorization.
    func token(clientID: String, secret: Secret, refreshToken: Secret) -> EngageExchange {
        let form =
            "grant_type=refresh_token&client_id=" + FormText.encode(clientID)
            + "&client_secret=" + FormText.encode(secret.reveal())
            + "&refresh_token=" + FormText.encode(refreshToken.reveal())
        var request = post("oauth", "token")
        request.headerFields[.accept] = "application/json"
        request.headerFields[.contentType] = FormText.type
        return EngageExchange(request: request, body: Array(form.utf8))
    }

    /// Sends a document of the XML interface: a form with the single field `xml`, not the document itself.
    func xmlapi(_ envelope: String, token: String) -> EngageExchange {
        var request = post("XMLAPI")
        request.headerFields[.authorization] = "Bearer \(token)"
        request.headerFields[.contentType] = FormText.type
        var body = Array("xml=".utf8)
        FormText.encode(envelope, into: &body)
        return EngageExchange(request: request, body: body)
    }

    /// Submits behaviours.
    func behaviors(_ json: [UInt8], token: String) -> EngageExchange {
        var request = post("rest", "events", "submission")
        request.headerFields[.authorization] = "Bearer \(token)"
        request.headerFields[.contentType] = "application/json"
        request.headerFields[.accept] = "application/json"
        return EngageExchange(request: request, body: json)
    }
}

/// The encoding of forms.
enum FormText {
    static let type = "application/x-www-form-urlencoded; charset=utf-8"

    static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        encode(text, into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Encodes everything that a form can't hold unescaped.
    static func encode(_ text: String, into bytes: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        bytes.reserveCapacity(bytes.count + text.utf8.count * 3 / 2)
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: bytes.append(byte)
            default:
                bytes.append(0x25)
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            }
        }
    }
}
