import HTTPTypes
import HummingbirdCore

extension Request {
    private static let keyField = HTTPField.Name("X-API-Key")!

    /// The request's token: a bearer token in `Authorization`, or the value of `X-API-Key`.
    ///
    /// If `Authorization` has another scheme, `X-API-Key` is ignored.
    var token: String? {
        guard let field = headers[.authorization] else { return headers[Self.keyField] }
        let parts = field.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}
