/// A fault that a mock server injects into an exchange.
///
/// In a script, as JSON: `{"on":"activate","times":2,"fault":{"kind":"status","status":503,"retryAfter":"1"}}`.
public enum Fault: Sendable, Hashable, Codable {
    /// Answers with this status without asking the vendor; adds a `Retry-After` field if one is given.
    case status(Int, retryAfter: String? = nil, body: String? = nil, contentType: String? = nil)
    /// Asks the vendor, and waits this long before answering.
    case delay(milliseconds: Int)
    /// Asks the vendor, and then never answers.
    case stall
    /// Resets the connection without asking the vendor.
    case reset
    /// Asks the vendor, so that its state changes, and resets the connection instead of answering.
    case resetAfterApplying
    /// Sends the first bytes of the body under the full `Content-Length`, then closes.
    case truncate(after: Int)
    /// Announces a body longer or shorter than the one sent by this many bytes; closes after announcing a longer one.
    case wrongLength(by: Int)
    /// Sends bytes that are not HTTP.
    case garbage
    /// Redirects to an address without asking the vendor.
    case redirect(status: Int, to: String)
    /// Sends the answer byte by byte, at this interval.
    case drip(millisecondsPerByte: Int)
    /// Sends this many zero bytes, compressed to almost nothing.
    case compressedBomb(bytes: Int)
    /// Answers 200 with this body instead of the vendor's.
    case body(String, contentType: String)
}

/// A fault, and the requests that it affects.
public struct ScriptedFault: Sendable, Hashable, Codable {
    /// The operation, as named by ``MockVendor/operation(of:)``, or several separated by `|`; `nil` for any.
    public var on: String?
    /// How many matching requests succeed before it begins.
    public var after: Int
    /// How many requests it affects; `nil` for all that follow.
    public var times: Int?
    /// Text that a request must contain, as given by ``MockVendor/legible(_:)``; `nil` for any request.
    public var containing: String?
    /// The fault.
    public var fault: Fault

    /// Creates a scripted fault.
    public init(_ fault: Fault, on: String? = nil, after: Int = 0, times: Int? = 1, containing: String? = nil) {
        self.fault = fault
        self.on = on
        self.after = after
        self.times = times
        self.containing = containing
    }

    /// Whether this fault applies to a request.
    ///
    /// - Parameters:
    ///   - operation: The request's operation.
    ///   - text: The request's content; evaluated only if needed.
    /// - Returns: Whether it does.
    public func befalls(_ operation: String, text: @autoclosure () -> String = "") -> Bool {
        guard on.map({ $0.split(separator: "|").contains(Substring(operation)) }) ?? true else { return false }
        return containing.map { text().contains($0) } ?? true
    }
}

/// An exchange in the journal.
public struct JournalEntry: Sendable, Hashable {
    /// The number, counting from 1.
    public var number: Int
    /// The connection, counting from 1.
    public var connection: Int
    /// When the request was complete, in seconds since the server started.
    public var received: Double
    /// The operation, as named by ``MockVendor/operation(of:)``.
    public var operation: String
    /// The request.
    public var request: MockRequest
    /// The answer; `nil` if there is none, or not yet.
    public var response: MockResponse?
    /// The fault that affected it, if any.
    public var fault: Fault?
    /// The number of bytes received, head and body.
    public var bytesIn: Int
    /// The number of bytes sent, head and body.
    public var bytesOut: Int

    /// Creates an entry.
    public init(
        number: Int,
        connection: Int,
        received: Double,
        operation: String,
        request: MockRequest,
        response: MockResponse? = nil,
        fault: Fault? = nil,
        bytesIn: Int = 0,
        bytesOut: Int = 0
    ) {
        self.number = number
        self.connection = connection
        self.received = received
        self.operation = operation
        self.request = request
        self.response = response
        self.fault = fault
        self.bytesIn = bytesIn
        self.bytesOut = bytesOut
    }
}
