/// One thing that a server must do, tried over the wire.
///
/// Where the protocol leaves something open, a case asks for no more than that a client can go on: any refusal that the protocol
/// knows will do. What no client could read is never left open.
public struct ServerCase: Sendable {
    /// The name: chapter, slash, case.
    public let name: String
    /// What it shows, in a sentence.
    public let summary: String
    /// The optional features that it is about.
    public let features: Set<ServerFeature>
    /// Whether it writes bytes of its own, which can't be done over TLS.
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

    /// Every case, in order; the last ones end the server if it can be asked to.
    public static let all: [ServerCase] =
        bulk + single + keys + contexts + bodies + access + tags + numbers + streams + methods + connections + framing
        + limits + shutdown

    /// Whether a name is meant by a pattern, in which `*` stands for any text.
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
