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

    private static let allowedFields =
        "authorization, content-type, if-none-match, x-api-key, last-event-id, traceparent, tracestate"
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
        mark(origin: request.headers[.origin]) { answer.fields[$0] = $1 }
    }

    /// Passes the CORS fields for an answer to a request with this origin to a closure.
    func mark(origin: String?, add: (HTTPField.Name, String) -> Void) {
        guard !origins.isEmpty else { return }
        let areAllAllowed = origins.contains("*")
        // Added even if the request has no origin, so that caches don't share one origin's answers with another.
        if !areAllAllowed { add(.vary, "origin") }
        guard let origin, areAllAllowed || origins.contains(origin) else { return }
        add(.accessControlAllowOrigin, areAllAllowed ? "*" : origin)
        add(.accessControlExposeHeaders, Self.exposedFields)
    }
}
