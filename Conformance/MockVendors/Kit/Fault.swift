/// One thing that goes wrong, for as often as it is written in the script.
///
/// Written as JSON: `{"on":"activate","times":2,"fault":{"kind":"status","status":503,"retryAfter":"1"}}`.
public enum Fault: Sendable, Hashable, Codable {
    /// Answers with this status, without asking the vendor; with a `Retry-After` field if one is given.
    case status(Int, retryAfter: String? = nil, body: String? = nil, contentType: String? = nil)
    /// Asks the vendor, and waits this long before answering.
    case delay(milliseconds: Int)
    /// Asks the vendor, and then never answers.
    case stall
    /// Resets the connection without asking the vendor.
    case reset
    /// Asks the vendor, so that its state changes, and resets the connection instead of answering.
    case resetAfterApplying
    /// Sends the first bytes of the body, under the right length, and closes.
    case truncate(after: Int)
    /// Announces a body longer or shorter than the one that it sends, by this many bytes; closes after a longer one.
    case wrongLength(by: Int)
    /// Sends bytes that are not HTTP.
    case garbage
    /// Redirects to an address without asking the vendor.
    case redirect(status: Int, to: String)
    /// Sends the answer a byte at a time, this long apart.
    case drip(millisecondsPerByte: Int)
    /// Sends this many bytes of zeros, compressed to almost none.
    case compressedBomb(bytes: Int)
    /// Answers 200 with this text in place of the vendor's.
    case body(String, contentType: String)
}

/// A fault, and the requests that it befalls.
public struct ScriptedFault: Sendable, Hashable, Codable {
    /// The operation, by ``MockVendor/operation(of:)``, or several with `|` between them; `nil` for any.
    public var on: String?
    /// How many matching requests go well before it begins.
    public var after: Int
    /// How many requests it befalls; `nil` for all that follow.
    public var times: Int?
    /// What a request must hold, by ``MockVendor/legible(_:)``; any if `nil`.
    public var containing: String?
    /// What goes wrong.
    public var fault: Fault

    /// Creates a scripted fault.
    public init(_ fault: Fault, on: String? = nil, after: Int = 0, times: Int? = 1, containing: String? = nil) {
        self.fault = fault
        self.on = on
        self.after = after
        self.times = times
        self.containing = containing
    }

    /// Whether this fault is about a request.
    ///
    /// - Parameters:
    ///   - operation: What the request asks for.
    ///   - text: What it holds; asked for only if that matters.
    /// - Returns: Whether it is.
    public func befalls(_ operation: String, text: @autoclosure () -> String = "") -> Bool {
        guard on.map({ $0.split(separator: "|").contains(Substring(operation)) }) ?? true else { return false }
        return containing.map { text().contains($0) } ?? true
    }
}

/// One exchange, as the journal keeps it.
public struct JournalEntry: Sendable, Hashable {
    /// Counts up from 1.
    public var number: Int
    /// The connection, counting up from 1.
    public var connection: Int
    /// Seconds since the server started, when the request was complete.
    public var received: Double
    /// The operation, by ``MockVendor/operation(of:)``.
    public var operation: String
    /// The request.
    public var request: MockRequest
    /// What was answered; `nil` while, or if, nothing was.
    public var response: MockResponse?
    /// The fault that befell it, if any.
    public var fault: Fault?
    /// How many bytes arrived, head and body.
    public var bytesIn: Int
    /// How many bytes were sent, head and body.
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
