import HTTPTypes
import HummingbirdCore

extension Request {
    private static let keyField = HTTPField.Name("X-API-Key")!

    /// The token that a request shows: in `Authorization` as a bearer's, or in `X-API-Key`.
    ///
    /// One that is there and isn't a bearer's isn't made up for by the other.
    var token: String? {
        guard let field = headers[.authorization] else { return headers[Self.keyField] }
        let parts = field.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}
