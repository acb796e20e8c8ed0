import AdapterKit
import Experimentation
import HTTPTypes

/// The address of an event stream; may contain credentials and is never logged.
struct OFREPStream: Sendable, Hashable {
    let scheme: String
    let authority: String
    /// The path with its query.
    let path: String
    /// How long the application may be in the background before the stream is closed.
    let inactivityDelay: Duration

    /// The maximum number of open streams, in addition to those that they replace.
    static let most = 8
    /// The protocol's default delay.
    static let usualInactivityDelay = Duration.seconds(120)

    /// A stream as the server announces it: a full URL, or an origin and a path.
    struct Announcement: Sendable, Hashable {
        /// The full URL, if given.
        var url: String?
        /// The origin; the server's own if `nil`.
        var origin: String?
        /// The path with its query.
        var target: String?
        /// The inactivity delay in seconds; `nil` unless a whole number of at least 1.
        var inactivitySeconds: Int?

        /// Reads an entry of `eventStreams`; `nil` for an unknown type, which the protocol says to ignore.
        init?(_ entry: FlagValue) {
            guard let members = entry.objectValue, members["type"]?.stringValue == "sse" else { return nil }
            url = members["url"]?.stringValue
            let endpoint = members["endpoint"]?.objectValue
            origin = endpoint?["origin"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
            target = endpoint?["requestUri"]?.stringValue
            inactivitySeconds = members["inactivityDelaySec"]?.intValue.flatMap { $0 >= 1 ? min($0, 86_400) : nil }
        }
    }

    /// Resolves an announced address; `nil` if it is malformed or not allowed.
    ///
    /// - Parameters:
    ///   - announcement: The server's announcement.
    ///   - base: The server's own address.
    init?(_ announcement: Announcement, of base: Endpoint) {
        let delay = announcement.inactivitySeconds.map { Duration.seconds($0) } ?? Self.usualInactivityDelay
        switch (announcement.url, announcement.target) {
        case (let url?, nil): self.init(url, delay)
        case (nil, let target?) where target.hasPrefix("/") && !target.hasPrefix("//"):
            self.init((announcement.origin ?? "\(base.scheme)://\(base.authority)") + target, delay)
        default: return nil
        }
    }

    private init?(_ address: String, _ inactivityDelay: Duration) {
        guard address.utf8.count <= 8_192, let colon = address.firstRange(of: "://") else { return nil }
        let rest = address[colon.upperBound...]
        let end = rest.firstIndex { "/?#\\".contains($0) } ?? rest.endIndex
        // The rules of configured addresses: no user info, https except on loopback.
        guard let origin = try? Endpoint(String(address[..<end])),
            address.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        let target = rest[end...].prefix { $0 != "#" }
        self.inactivityDelay = inactivityDelay
        scheme = origin.scheme
        authority = origin.authority
        path = target.hasPrefix("/") ? String(target) : "/" + target
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        guard (try? request.validated()) != nil else { return nil }
    }

    /// Whether the stream has the server's own origin, and so may receive its credentials.
    func isOf(_ base: Endpoint) -> Bool { scheme == base.scheme && authority == base.authority }
}

/// A stream's event: ask again.
struct OFREPEvent: Sendable, Hashable {
    /// The validator of the new configuration, if given.
    var etag: String?
    /// When the configuration changed, if given.
    var lastModified: String?

    /// Creates an event.
    init(etag: String? = nil, lastModified: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
    }

    /// Reads an event's data; `nil` for an unknown type, which the protocol says to ignore.
    init?(data: [UInt8]) {
        guard let members = (try? JSON.parse(data, deepest: 8))?.objectValue,
            members["type"]?.stringValue == "refetchEvaluation"
        else { return nil }
        etag = members["etag"]?.stringValue.flatMap(Self.usable)
        let date = members["lastModified"]
        lastModified = (date?.stringValue ?? date?.intValue.map(String.init)).flatMap(Self.usable)
    }

    /// Returns what this event and a later one together say about the last configuration.
    func joined(by later: OFREPEvent) -> OFREPEvent {
        OFREPEvent(etag: later.etag ?? etag, lastModified: later.lastModified ?? lastModified)
    }

    /// Discards an empty or overlong value.
    private static func usable(_ text: String) -> String? { text.isEmpty || text.utf8.count > 1_024 ? nil : text }
}
