import Foundation

/// A vendor's server side: a value or an actor that answers requests as the vendor would.
///
/// It validates what it receives as strictly as the vendor does and holds real state. It knows nothing of sockets:
/// ``MockServer`` serves it, keeps the journal and plays the faults.
public protocol MockVendor: Sendable {
    /// The vendor's name, in lower case.
    static var name: String { get }

    /// How the vendor's ways are known that its documents leave open, or that a setting changes.
    static var facts: [MockFact] { get }

    /// Names the operation that a request asks for, in the vendor's words: `campaigns`, `activate`, `token`.
    ///
    /// Fault scripts and the journal go by it. An unknown path is `unknown`.
    func operation(of request: MockRequest) -> String

    /// What a request holds, as text: its query and body, without the compression that the vendor takes.
    func legible(_ request: MockRequest) -> String

    /// Answers a request as the vendor would.
    func respond(to request: MockRequest) async -> MockResponse

    /// What follows the head of an answer with status 200, piece by piece, for as long as the connection lasts; `nil` for
    /// an answer that has its body with it.
    func pieces(answering request: MockRequest) async -> AsyncStream<[UInt8]>?

    /// Forgets everything that requests changed; what was configured stays.
    func reset() async

    /// Answers what tests and people ask under `/_mock/`, beyond what the server answers itself; `nil` for the unknown.
    ///
    /// - Parameter request: The request, its path without the leading `/_mock`.
    /// - Returns: The answer, or `nil`.
    func control(_ request: MockRequest) async -> MockResponse?

    /// Replaces what the vendor's back end holds, from the vendor's own format.
    ///
    /// - Throws: ``MockWorldError`` when the text can't be used; then nothing has changed.
    func load(_ world: Data) async throws(MockWorldError)

    /// The named base addresses that an application configures, made from where the server listens.
    func endpoints(at base: String) -> [String: String]

    /// What an application needs to be let in.
    var credentials: [String: String] { get }
}

extension MockVendor {
    /// Nothing is left open.
    public static var facts: [MockFact] { [] }

    /// The query and the body as they came.
    public func legible(_ request: MockRequest) -> String {
        FormEncoding.percentDecoded(request.query ?? "") + request.text
    }

    /// Answers with whole bodies.
    public func pieces(answering request: MockRequest) async -> AsyncStream<[UInt8]>? { nil }
    /// Knows nothing more.
    public func control(_ request: MockRequest) async -> MockResponse? { nil }
}

/// Why a world couldn't be loaded.
public struct MockWorldError: Error, Sendable, CustomStringConvertible {
    /// The place and the reason, for a person.
    public let description: String
    /// Creates an error.
    public init(_ description: String) { self.description = description }
}

/// A request as it arrived.
public struct MockRequest: Sendable, Hashable {
    /// The method, in capitals.
    public var method: String
    /// The path as it was written, without the query.
    public var path: String
    /// The query as it was written, without the question mark; `nil` if there was none.
    public var query: String?
    /// The header fields in the order of arrival, names as they were written.
    public var headers: [Header]
    /// The body.
    public var body: [UInt8]

    /// A header field.
    public struct Header: Sendable, Hashable, Codable {
        /// The name as it was written.
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

    /// The first value of a header field, whatever the case of its name.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The path's segments, percent-decoded.
    public var segments: [String] {
        path.split(separator: "/", omittingEmptySubsequences: true).map {
            FormEncoding.percentDecoded($0)
        }
    }

    /// The query's items, percent-decoded, `+` being a space; in their order.
    public var queryItems: [(name: String, value: String)] { FormEncoding.decode(query ?? "") }

    /// The first value of a query item.
    public func queryItem(_ name: String) -> String? { queryItems.first { $0.name == name }?.value }

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// An answer, before any fault spoils it.
public struct MockResponse: Sendable, Hashable {
    /// The status code.
    public var status: Int
    /// The header fields; `Content-Length` is the server's.
    public var headers: [MockRequest.Header]
    /// The body.
    public var body: [UInt8]
    /// How the vendor itself misbehaves with this answer; a fault of the script goes first.
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

    /// Creates an answer with JSON text.
    public static func json(_ text: String, status: Int = 200) -> MockResponse {
        MockResponse(status: status, type: "application/json", text: text)
    }

    /// Creates an answer with XML text.
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

    /// Undoes percent-encoding; what isn't UTF-8 afterwards stays as it was, and a `%` without two digits is a `%`.
    ///
    /// Foundation's own drops a byte order mark, and refuses a text as a whole over one stray `%`.
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
