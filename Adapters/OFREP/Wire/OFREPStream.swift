import AdapterKit
import Experimentation
import HTTPTypes

/// The address of an event stream; it may hold credentials, and is never logged.
struct OFREPStream: Sendable, Hashable {
    let scheme: String
    let authority: String
    /// The path with its query.
    let path: String
    /// How long the application may be out of sight before the stream is closed.
    let inactivityDelay: Duration

    /// What the protocol says where a server says nothing of it.
    static let usualInactivityDelay = Duration.seconds(120)

    /// Where a server says that it tells of changes: in an address of its own, or below an origin.
    struct Announcement: Sendable, Hashable {
        /// The whole address, if that is what is written.
        var url: String?
        /// The origin; the server's own if there is none.
        var origin: String?
        /// The path with its query.
        var target: String?
        /// After how many seconds out of sight the stream is to be closed; what isn't a whole number from 1 on isn't said.
        var inactivitySeconds: Int?

        /// Reads an entry of `eventStreams`; `nil` for a kind of stream that isn't known, which is to be ignored.
        init?(_ entry: FlagValue) {
            guard let members = entry.objectValue, members["type"]?.stringValue == "sse" else { return nil }
            url = members["url"]?.stringValue
            let endpoint = members["endpoint"]?.objectValue
            origin = endpoint?["origin"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
            target = endpoint?["requestUri"]?.stringValue
            inactivitySeconds = members["inactivityDelaySec"]?.intValue.flatMap { $0 >= 1 ? min($0, 86_400) : nil }
        }
    }

    /// Reads an announced address; `nil` if it isn't exactly one, or one that nothing is sent to.
    ///
    /// - Parameters:
    ///   - announcement: What the server says.
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
        // The rules for a configured address: no user, https but for this machine.
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

    /// Whether the stream is at a server's own address, and so may have its credentials.
    func isOf(_ base: Endpoint) -> Bool { scheme == base.scheme && authority == base.authority }
}

/// What an event stream tells: ask again.
struct OFREPEvent: Sendable, Hashable {
    /// The validator of the configuration that is meant, if it is told.
    var etag: String?
    /// When that was changed, if it is told.
    var lastModified: String?

    /// Creates an event.
    init(etag: String? = nil, lastModified: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
    }

    /// Reads an event's data; `nil` for a kind that isn't known, which is to be ignored.
    init?(data: [UInt8]) {
        guard let members = (try? JSON.parse(data, deepest: 8))?.objectValue,
            members["type"]?.stringValue == "refetchEvaluation"
        else { return nil }
        etag = members["etag"]?.stringValue.flatMap(Self.usable)
        let date = members["lastModified"]
        lastModified = (date?.stringValue ?? date?.intValue.map(String.init)).flatMap(Self.usable)
    }

    /// Leaves out what no server could want back.
    private static func usable(_ text: String) -> String? { text.isEmpty || text.utf8.count > 1_024 ? nil : text }
}
