import AdapterKit
import Experimentation
import HTTPTypes

/// The settings of the OFREP adapter.
///
/// ```swift
/// let configuration = OFREPConfiguration(baseURL: try Endpoint("https://flags.example.com"), token: "key")
/// ```
public struct OFREPConfiguration: Sendable {
    /// How a session learns that decisions have changed.
    public enum Changes: String, Sendable, Hashable, Codable, CaseIterable {
        /// From the event streams announced in the server's answers, and on return to the foreground unless all of them
        /// are open.
        case events
        /// By polling at ``OFREPConfiguration/pollingInterval``, and on return to the foreground.
        case polling
        /// Not at all: decisions change only when the application refreshes.
        case none
    }

    /// The server's address: everything before `/ofrep`.
    public var baseURL: Endpoint
    /// The token sent as `Authorization: Bearer …`, if any.
    public var token: Secret?
    /// The key sent as `X-API-Key`, if any.
    public var apiKey: Secret?
    /// More header fields for requests to the server's own address, by name.
    public var headers: [String: Secret]
    /// How a session learns that decisions have changed.
    public var changes: Changes
    /// The interval of ``Changes/polling``; greater than zero.
    public var pollingInterval: Duration
    /// The deadline of one question, retries included.
    public var timeout: Duration
    /// How a failed request is retried, within the deadline.
    public var retry: HTTPRetry
    /// The limit on cached answers, in bytes.
    public var answerBytes: Int
    /// Where the server takes events, below ``baseURL``; `nil` for a server that takes none, as in the protocol itself.
    ///
    /// It is `v1/events` for this project's gateway, which names it in the metadata of its bulk evaluations.
    public var eventsPath: String?

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - baseURL: The server's address: everything before `/ofrep`.
    ///   - token: Sent as `Authorization: Bearer …`.
    ///   - apiKey: Sent as `X-API-Key`.
    ///   - headers: More header fields, by name.
    ///   - changes: How a session learns that decisions have changed.
    ///   - pollingInterval: The interval of ``Changes/polling``.
    ///   - timeout: The deadline of one question, retries included.
    ///   - retry: How a failed request is retried; a 429 never is, because the server sets the wait.
    ///   - answerBytes: The limit on cached answers, in bytes.
    ///   - eventsPath: Where the server takes events, below the address; `nil` for a server that takes none.
    public init(
        baseURL: Endpoint,
        token: Secret? = nil,
        apiKey: Secret? = nil,
        headers: [String: Secret] = [:],
        changes: Changes = .events,
        pollingInterval: Duration = .seconds(60),
        timeout: Duration = .seconds(10),
        retry: HTTPRetry = HTTPRetry(attempts: 2, statuses: [408, 425, 500, 502, 503, 504]),
        answerBytes: Int = 16 << 20,
        eventsPath: String? = nil
    ) {
        self.baseURL = baseURL
        self.token = token
        self.apiKey = apiKey
        self.headers = headers
        self.changes = changes
        self.pollingInterval = pollingInterval
        self.timeout = timeout
        self.retry = retry
        self.answerBytes = answerBytes
        self.eventsPath = eventsPath
    }
}

extension OFREPConfiguration {
    /// The segments of ``eventsPath``; `nil` if it is `nil` or isn't a path.
    var eventsSegments: [String]? {
        guard let eventsPath, !eventsPath.contains(where: { "?#\\".contains($0) }) else { return nil }
        let segments = eventsPath.split(separator: "/").map { String($0) }
        return segments.isEmpty || segments.contains { $0 == "." || $0 == ".." } ? nil : segments
    }

    /// A value that differs between accounts.
    var account: String {
        let fields = headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.reveal())" }
        return ([baseURL.description, token?.reveal() ?? "", apiKey?.reveal() ?? ""] + fields).joined(separator: "\n")
    }
}
