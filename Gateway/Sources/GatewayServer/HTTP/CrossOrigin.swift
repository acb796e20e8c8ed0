import HTTPTypes
import HummingbirdCore

/// What browsers are told of other origins.
struct CrossOrigin: Sendable {
    /// The origins that may call; `*` for all.
    let origins: Set<String>

    /// Creates a rule.
    ///
    /// - Parameter origins: Origins as browsers send them, or `*`; none unless named.
    init(_ origins: [String] = []) { self.origins = Set(origins) }

    private static let allowedFields = "authorization, content-type, if-none-match, x-api-key, last-event-id"
    // Without this a browser's client can't read the tag that it is to send back.
    private static let exposedFields = "etag, retry-after"

    /// Answers a browser that asks before it calls.
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

    /// Marks an answer for the origin that asked, if it may.
    func mark(_ answer: inout Answer, for request: Request) {
        guard !origins.isEmpty else { return }
        // Also without an origin: a cache mustn't give what one origin got to another.
        if !origins.contains("*") { answer.fields[.vary] = "origin" }
        guard let origin = request.headers[.origin], origins.contains("*") || origins.contains(origin) else { return }
        answer.fields[.accessControlAllowOrigin] = origins.contains("*") ? "*" : origin
        answer.fields[.accessControlExposeHeaders] = Self.exposedFields
    }
}
