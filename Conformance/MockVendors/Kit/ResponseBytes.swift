/// Encodes answers in HTTP/1.1.
enum ResponseBytes {
    /// The head and the body in one piece.
    static func whole(_ response: MockResponse, to method: String, keepsConnection: Bool = true) -> [UInt8] {
        let sendsBody = method != "HEAD" && allowsBody(response.status)
        let head = head(response, length: response.body.count, keepsConnection: keepsConnection)
        return sendsBody ? head + response.body : head
    }

    /// The head, announcing a body of this length.
    static func head(_ response: MockResponse, length: Int, keepsConnection: Bool = true) -> [UInt8] {
        var text = "HTTP/1.1 \(response.status) \(phrases[response.status] ?? "Status")\r\n"
        for field in response.headers { text += "\(field.name): \(field.value)\r\n" }
        if allowsBody(response.status) { text += "Content-Length: \(length)\r\n" }
        if !keepsConnection { text += "Connection: close\r\n" }
        return Array((text + "\r\n").utf8)
    }

    /// The head of a body that ends with the connection.
    static func openHead(_ response: MockResponse) -> [UInt8] {
        var text = "HTTP/1.1 \(response.status) \(phrases[response.status] ?? "Status")\r\n"
        for field in response.headers { text += "\(field.name): \(field.value)\r\n" }
        return Array((text + "Connection: close\r\n\r\n").utf8)
    }

    private static func allowsBody(_ status: Int) -> Bool { status >= 200 && status != 204 && status != 304 }

    private static let phrases = [
        200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 301: "Moved Permanently", 302: "Found",
        303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 409: "Conflict", 410: "Gone", 413: "Content Too Large",
        415: "Unsupported Media Type", 422: "Unprocessable Content", 429: "Too Many Requests",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout",
    ]
}
