import HTTPTypes
import HummingbirdCore

/// Reads the token of a request.
enum BearerToken {
    private static let scheme = Array("bearer".utf8)

    /// Reads a request's token: a bearer token in `Authorization`, or the value of `X-API-Key`.
    ///
    /// If `Authorization` has another scheme, `X-API-Key` is ignored.
    static func read(authorization: String?, key: String?) -> String? {
        guard let authorization else { return key }
        let parts = authorization.utf8.split(separator: UInt8(ascii: " "))
        guard parts.count == 2, parts[0].elementsEqual(scheme, by: { $0 | 0x20 == $1 }) else { return nil }
        return String(Substring(parts[1]))
    }
}

extension Request {
    private static let keyField = HTTPField.Name.literal("X-API-Key")

    /// The request's token.
    var token: String? { BearerToken.read(authorization: headers[.authorization], key: headers[Self.keyField]) }
}
