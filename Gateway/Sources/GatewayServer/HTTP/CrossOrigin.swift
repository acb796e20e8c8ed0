import HTTPTypes
import HummingbirdCore

/// The CORS rules for browsers.
struct CrossOrigin: Sendable {
    /// The allowed origins; `*` for all.
    let origins: Set<String>

    /// Creates the rules.
    ///
    /// - Parameter origins: Origins as browsers send them, or `*`; none by default.
    init(_ origins: [String] = []) { self.origins = Set(origins) }

    private static let allowedFields = "authorization, content-type, if-none-match, x-api-key, last-event-id"
    // Without this, a client in a browser can't read the tag that it has to send back.
    private static let exposedFields = "etag, retry-after"

    /// Answers a preflight request.
    func preflight(_ route: Route) -> Answer {
        .empty(
            .noContent,
            [
                .allow: route.method == .get ? "GET, HEAD, OPTIONS" : "POST, OPTIONS",
                .accessControlAllowMethods: route.method == .get ? "GET, HEAD" : "POST",
                .accessControlAllowHeaders: Self.allowedFields,
                .accessControlMaxAge: "7200",
            ]
        )
    }

    /// Adds the CORS fields to an answer if the request's origin is allowed.
    func mark(_ answer: inout Answer, for request: Request) {
        guard !origins.isEmpty else { return }
        // Also without an origin, so that caches don't share one origin's answers with another.
        if !origins.contains("*") { answer.fields[.vary] = "origin" }
        guard let origin = request.headers[.origin], origins.contains("*") || origins.contains(origin) else { return }
        answer.fields[.accessControlAllowOrigin] = origins.contains("*") ? "*" : origin
        answer.fields[.accessControlExposeHeaders] = Self.exposedFields
    }
}
