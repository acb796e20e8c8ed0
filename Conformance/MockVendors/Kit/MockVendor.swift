import Foundation

/// A vendor's server side: a value or an actor that answers requests as the vendor would.
///
/// It validates input as strictly as the vendor does and holds real state. It is independent of sockets: ``MockServer``
/// serves it, keeps the journal and injects the faults.
public protocol MockVendor: Sendable {
    /// The vendor's name, in lower case.
    static var name: String { get }

    /// How each behavior that the vendor's documentation leaves open or that a setting changes is known.
    static var facts: [MockFact] { get }

    /// Names a request's operation in the vendor's terms: `campaigns`, `activate`, `token`.
    ///
    /// Fault scripts and the journal use it. An unknown path is `unknown`.
    func operation(of request: MockRequest) -> String

    /// The request's query and body as text, decompressed if the vendor accepts compression.
    func legible(_ request: MockRequest) -> String

    /// The encodings of a request's body that the vendor decodes, in lower case; the server refuses any other with 415
    /// before the vendor sees it.
    static var contentEncodings: Set<String> { get }

    /// Answers a request as the vendor would.
    func respond(to request: MockRequest) async -> MockResponse

    /// The pieces that follow the head of an answer with status 200, for as long as the connection lasts; `nil` for an
    /// answer with a complete body.
    func pieces(answering request: MockRequest) async -> AsyncStream<[UInt8]>?

    /// Resets everything that requests changed; keeps the configuration.
    func reset() async

    /// Answers a request under `/_mock/` that the server doesn't answer itself.
    ///
    /// - Parameter request: The request, its path without the leading `/_mock`.
    /// - Returns: The answer; `nil` if the path is unknown.
    func control(_ request: MockRequest) async -> MockResponse?

    /// Replaces the content of the vendor's back end, in the vendor's own format.
    ///
    /// - Throws: ``MockWorldError`` when the text is invalid; nothing changes then.
    func load(_ world: Data) async throws(MockWorldError)

    /// The named base addresses that an application configures, derived from the server's address.
    func endpoints(at base: String) -> [String: String]

    /// The credentials an application needs.
    var credentials: [String: String] { get }
}

extension MockVendor {
    /// Empty: nothing is left open.
    public static var facts: [MockFact] { [] }

    /// Empty: it decodes none.
    public static var contentEncodings: Set<String> { [] }

    /// The query and the body as received.
    public func legible(_ request: MockRequest) -> String {
        FormEncoding.percentDecoded(request.query ?? "") + request.text
    }

    /// `nil`: every answer has a complete body.
    public func pieces(answering request: MockRequest) async -> AsyncStream<[UInt8]>? { nil }
    /// `nil`: there are no further paths.
    public func control(_ request: MockRequest) async -> MockResponse? { nil }
}

/// Why a world couldn't be loaded.
public struct MockWorldError: Error, Sendable, CustomStringConvertible {
    /// The path and the reason.
    public let description: String
    /// Creates an error.
    public init(_ description: String) { self.description = description }
}

/// A request as received.
public struct MockRequest: Sendable, Hashable {
    /// The method, in capitals.
    public var method: String
    /// The path as sent, without the query.
    public var path: String
    /// The query as sent, without the question mark; `nil` if there was none.
    public var query: String?
    /// The header fields in the order of arrival, with names as sent.
    public var headers: [Header]
    /// The body.
    public var body: [UInt8]

    /// A header field.
    public struct Header: Sendable, Hashable, Codable {
        /// The name as sent.
        public var name: String
        /// The value.
        public var value: String
        /// Creates a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Creates a request.
    public init(
        method: String,
        path: String,
        query: String? = nil,
        headers: [Header] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
    }

    /// The first value of a header field, ignoring the case of its name.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The path's segments, percent-decoded.
    public var segments: [String] {
        path.split(separator: "/", omittingEmptySubsequences: true).map {
            FormEncoding.percentDecoded($0)
        }
    }

    /// The query's items in order, percent-decoded, with `+` as a space.
    public var queryItems: [(name: String, value: String)] { FormEncoding.decode(query ?? "") }

    /// The first value of a query item.
    public func queryItem(_ name: String) -> String? { queryItems.first { $0.name == name }?.value }

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// An answer, before any fault is applied.
public struct MockResponse: Sendable, Hashable {
    /// The status code.
    public var status: Int
    /// The header fields; the server adds `Content-Length`.
    public var headers: [MockRequest.Header]
    /// The body.
    public var body: [UInt8]
    /// A fault that the vendor itself injects into this answer; scripted faults take precedence.
    public var fault: Fault?

    /// Creates an answer.
    public init(status: Int, headers: [MockRequest.Header] = [], body: [UInt8] = [], fault: Fault? = nil) {
        self.status = status
        self.headers = headers
        self.body = body
        self.fault = fault
    }

    /// Creates an answer with a text.
    public init(status: Int, type: String, text: String) {
        self.init(status: status, headers: [.init("Content-Type", type)], body: Array(text.utf8))
    }

    /// Creates an answer with JSON.
    public static func json(_ text: String, status: Int = 200) -> MockResponse {
        MockResponse(status: status, type: "application/json", text: text)
    }

    /// Creates an answer with XML.
    public static func xml(_ text: String, status: Int = 200) -> MockResponse {
        MockResponse(status: status, type: "text/xml;charset=UTF-8", text: text)
    }
}

/// The encoding of forms and queries.
public enum FormEncoding {
    /// Decodes `a=b&c=d`, in order; `+` is a space.
    public static func decode(_ text: String) -> [(name: String, value: String)] {
        text.split(separator: "&", omittingEmptySubsequences: true).map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func decoded(_ part: Substring) -> String {
                let spaced = part.replacing("+", with: " ")
                return percentDecoded(spaced)
            }
            return (decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : "")
        }
    }

    /// Decodes percent-encoding; the result stays encoded if it isn't UTF-8, and a `%` without two digits is kept.
    ///
    /// Foundation's decoder drops a byte order mark and rejects a whole text because of one stray `%`.
    public static func percentDecoded(_ text: some StringProtocol) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                rest = rest.dropFirst(2)
                bytes.append(value)
            } else {
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self) ?? String(text)
    }
}
