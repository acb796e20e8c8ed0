import AdapterKit
import Experimentation
import HTTPTypes

/// The settings of the adapter for servers that speak OFREP.
///
/// ```swift
/// let configuration = OFREPConfiguration(baseURL: try Endpoint("https://flags.example.com"), token: "key")
/// ```
public struct OFREPConfiguration: Sendable {
    /// How a session hears that decisions have changed.
    public enum Changes: String, Sendable, Hashable, Codable, CaseIterable {
        /// From the event streams that the server names in its answers; a server that names none isn't heard.
        case events
        /// By asking again, ``OFREPConfiguration/pollingInterval`` apart.
        case polling
        /// Not at all: decisions change when the application refreshes.
        case none
    }

    /// The server's address: whatever comes before `/ofrep`.
    public var baseURL: Endpoint
    /// Sent as `Authorization: Bearer …`, if there is one.
    public var token: Secret?
    /// Sent as `X-API-Key`, if there is one.
    public var apiKey: Secret?
    /// Further header fields of every request to the server's own address, by name.
    public var headers: [String: Secret]
    /// How a session hears that decisions have changed.
    public var changes: Changes
    /// How often the server is asked again with ``Changes/polling``; more than nothing.
    public var pollingInterval: Duration
    /// How long one question may take, retries included.
    public var timeout: Duration
    /// How a question is repeated that failed, within its time.
    public var retry: HTTPRetry
    /// How many bytes of answers are held, so that the server need not send them again.
    public var answerBytes: Int

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - baseURL: The server's address: whatever comes before `/ofrep`.
    ///   - token: Sent as `Authorization: Bearer …`.
    ///   - apiKey: Sent as `X-API-Key`.
    ///   - headers: Further header fields, by name.
    ///   - changes: How a session hears that decisions have changed.
    ///   - pollingInterval: How often the server is asked again with ``Changes/polling``.
    ///   - timeout: How long one question may take.
    ///   - retry: How a question is repeated that failed; never after a 429, which names its own time.
    ///   - answerBytes: How many bytes of answers are held.
    public init(
        baseURL: Endpoint,
        token: Secret? = nil,
        apiKey: Secret? = nil,
        headers: [String: Secret] = [:],
        changes: Changes = .events,
        pollingInterval: Duration = .seconds(60),
        timeout: Duration = .seconds(10),
        retry: HTTPRetry = HTTPRetry(attempts: 2, statuses: [408, 425, 500, 502, 503, 504]),
        answerBytes: Int = 16 << 20
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
    }
}

extension OFREPConfiguration {
    /// Fields that the adapter sets itself.
    private static let ownFields: Set<String> = [
        "accept", "cache-control", "content-type", "if-none-match", "last-event-id",
    ]

    /// What tells one account from another.
    var account: String {
        let fields = headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.reveal())" }
        return ([baseURL.description, token?.reveal() ?? "", apiKey?.reveal() ?? ""] + fields).joined(separator: "\n")
    }

    /// Checks what can't work.
    ///
    /// - Throws: ``ErrorCode/configuration`` naming the setting.
    func validate() throws(ExperimentationError) {
        func refuse(_ text: String) -> ExperimentationError { ExperimentationError(.configuration, "OFREP: \(text)") }
        if timeout <= .zero { throw refuse("timeout must be more than nothing") }
        if pollingInterval <= .zero { throw refuse("pollingInterval must be more than nothing") }
        if retry.attempts < 1 { throw refuse("a question must be asked once at least") }
        for (name, secret) in [("token", token), ("apiKey", apiKey)] {
            guard let text = secret?.reveal() else { continue }
            if text.isEmpty || !HTTPField.isValidValue(text) { throw refuse("\(name) is empty or can't be sent") }
        }
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            guard let field = HTTPField.Name(name) else { throw refuse("headers: \"\(name)\" is no name of a field") }
            let isTaken =
                Self.ownFields.contains(field.canonicalName) || (field.canonicalName == "authorization" && token != nil)
                || (field.canonicalName == "x-api-key" && apiKey != nil)
            if isTaken { throw refuse("headers: \(name) is set by the adapter") }
            if !HTTPField.isValidValue(value.reveal()) { throw refuse("headers: the value of \(name) can't be sent") }
        }
        // Whatever else the engine keeps for itself is refused now, not with the first question.
        _ = try OFREPRequests(self).evaluation(unless: nil, after: nil).validated()
    }
}
