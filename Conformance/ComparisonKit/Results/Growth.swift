/// How a vendor's traffic grows with an application's flags and events.
public struct Growth: Sendable, Hashable, Codable {
    /// The traffic of fetching one user's decisions, by the number of flags; empty for a vendor without flags.
    public var flags: [Point]
    /// The traffic of delivering events, by their number; empty for a vendor without events.
    public var events: [Point]

    /// The traffic at one size.
    public struct Point: Sendable, Hashable, Codable {
        /// The number of flags or events.
        public var count: Int
        /// The traffic on the wire.
        public var traffic: Traffic

        /// Creates a point.
        public init(count: Int, traffic: Traffic) {
            self.count = count
            self.traffic = traffic
        }
    }

    /// The sizes that are measured.
    public static let counts = [10, 100, 1_000]

    /// Creates a growth.
    public init(flags: [Point] = [], events: [Point] = []) {
        self.flags = flags
        self.events = events
    }
}
