/// The size and time limits of connections.
public struct ConnectionLimits: Sendable, Hashable {
    /// The maximum number of connections; further ones wait to be accepted.
    public var connections = 20_000
    /// The maximum size of the request line and all fields, in bytes; larger ones get 400.
    public var headBytes = 16_384
    /// The maximum number of header fields; more get 400.
    public var headFields = 100
    /// The maximum size of a body, in bytes; larger ones get 413, and the connection is closed.
    public var bodyBytes = 1_000_000
    /// The maximum time from the end of a head to the end of its body; a slower one gets 408.
    public var bodyTime = Duration.seconds(10)
    /// The maximum time from the first byte of a head to its end; then the connection is closed.
    public var headTime = Duration.seconds(8)
    /// How long a connection may be idle before it is closed.
    public var idleTime = Duration.seconds(60)

    /// Creates limits with defaults.
    public init() {}
}
