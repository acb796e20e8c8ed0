import Experimentation

/// That two vendors say different things of a flag to one user.
public struct Mismatch: Sendable, Hashable {
    /// In what they differ; the first that applies, in this order.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
        /// The one in the shadow gave no answer before its deadline.
        case late
        /// One of them failed, as a whole or for this flag.
        case error
        /// One of them doesn't have the flag.
        case missing
        /// The values are of different types.
        case type
        /// The values differ.
        case value
        /// Only the variants do, as the mapping translates them.
        case variant
        /// Only the reasons do.
        case reason

        /// Whether a user could notice: a vendor's own words for variants and reasons don't count.
        public var isVisible: Bool { self != .variant && self != .reason }
    }

    /// What one vendor said.
    public struct Answer: Sendable, Hashable {
        /// What the flag resolves to; `nil` if it isn't there.
        public var resolution: Resolution?
        /// Why there is no answer at all.
        public var failure: ErrorCode?
        /// How long the vendor took.
        public var latency: Duration
        /// Which configuration it answered by; `nil` where the vendor doesn't tell.
        public var version: String?
        /// How old that configuration was.
        public var age: Duration?

        /// Creates an answer.
        public init(
            _ resolution: Resolution? = nil,
            failure: ErrorCode? = nil,
            latency: Duration = .zero,
            version: String? = nil,
            age: Duration? = nil
        ) {
            self.resolution = resolution
            self.failure = failure
            self.latency = latency
            self.version = version
            self.age = age
        }

        /// The error of the flag or of the whole answer.
        public var code: ErrorCode? { failure ?? resolution?.error }
    }

    /// The flag.
    public var key: String
    /// The type of the value, by whoever has one.
    public var type: String
    /// In what they differ.
    public var kind: Kind
    /// Who answered the user.
    public var leader: MigrationSide
    /// What the old vendor said.
    public var old: Answer
    /// What the new vendor said.
    public var new: Answer
    /// A digest that tells the user from others, never the id.
    public var user: String

    /// Creates a mismatch.
    public init(
        key: String,
        type: String,
        kind: Kind,
        leader: MigrationSide,
        old: Answer,
        new: Answer,
        user: String
    ) {
        self.key = key
        self.type = type
        self.kind = kind
        self.leader = leader
        self.old = old
        self.new = new
        self.user = user
    }
}
