import AdapterKit
import HTTPTypes

/// The two requests of the vendor's SDK; neither has a query or a body.
enum SigmaRequests {
    /// The SDK version that these requests match.
    static let sdkVersion = "1.8.1"

    enum Resource: String {
        case configuration = "config.json"
        /// The location of the caller's address.
        case place = "geo"
    }

    static func get(_ resource: Resource, of configuration: SigmaConfiguration, privateID: String) -> HTTPRequest {
        var fields = HTTPFields()
        let texts = [
            ("token", configuration.projectToken.reveal()), ("user-id", privateID),
            ("Content-Type", "application/json"), ("sdk-name", "ios"), ("sdk-version", sdkVersion),
        ]
        for (name, text) in texts {
            if let name = HTTPField.Name(name) { fields[name] = text }
        }
        return configuration.endpoint.request(.get, path: [resource.rawValue], headers: fields)
    }
}
