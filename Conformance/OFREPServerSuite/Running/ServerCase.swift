/// A requirement for servers, tested over the wire.
///
/// Where the protocol leaves something open, a case accepts whatever lets a client continue, such as any rejection that
/// the protocol defines. It never accepts what no client could parse.
public struct ServerCase: Sendable {
    /// The name, as `chapter/case`.
    public let name: String
    /// What the case verifies, in a sentence.
    public let summary: String
    /// The optional features that it is about.
    public let features: Set<ServerFeature>
    /// Whether it writes raw bytes, which can't be done over TLS.
    public let writesBytes: Bool
    let run: @Sendable (ServerProbe) async throws -> Void

    init(
        _ name: String,
        _ summary: String,
        features: Set<ServerFeature> = [],
        writesBytes: Bool = false,
        run: @escaping @Sendable (ServerProbe) async throws -> Void
    ) {
        self.name = name
        self.summary = summary
        self.features = features
        self.writesBytes = writesBytes
        self.run = run
    }

    /// Every case, in order; the last ones shut the server down if there is a way to.
    public static let all: [ServerCase] =
        bulk + single + keys + contexts + bodies + access + tags + numbers + streams + methods + connections + framing
        + limits + shutdown

    /// Whether a name matches a pattern, in which `*` matches any text.
    public func matches(_ pattern: String) -> Bool {
        let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return name == pattern }
        guard name.hasPrefix(parts[0]) else { return false }
        var rest = name.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(parts[parts.count - 1])
    }
}
