import AdapterKit
import HTTPTypes

/// The two requests of the vendor's SDK; neither has a query or a body.
enum SigmaRequests {
    /// The SDK version that these requests match.
    static let sdkVersion = "1.8.1"

    /// Requests a project's configuration.
    static func configuration(at endpoint: Endpoint, token: Secret, privateID: String) -> HTTPRequest {
        request("config.json", at: endpoint, token: token, privateID: privateID)
    }

    /// Requests the location of the caller's address.
    static func place(at endpoint: Endpoint, token: Secret, privateID: String) -> HTTPRequest {
        request("geo", at: endpoint, token: token, privateID: privateID)
    }

    private static func request(
        _ name: String,
        at endpoint: Endpoint,
        token: Secret,
        privateID: String
    ) -> HTTPRequest {
        var fields = HTTPFields()
        let texts = [
            ("token", token.reveal()), ("user-id", privateID), ("Content-Type", "application/json"),
            ("sdk-name", "ios"), ("sdk-version", sdkVersion),
        ]
        for (name, text) in texts {
            if let name = HTTPField.Name(name) { fields[name] = text }
        }
        return endpoint.request(.get, path: [name], headers: fields)
    }
}
