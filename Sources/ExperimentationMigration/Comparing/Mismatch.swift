import Experimentation

/// A disagreement of two vendors about a flag for one user.
public struct Mismatch: Sendable, Hashable {
    /// The class of a mismatch; the first that applies, in this order.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
        /// The shadow didn't answer before its deadline.
        case late
        /// One of the vendors failed, for this flag or altogether.
        case error
        /// One of them doesn't have the flag.
        case missing
        /// The values are of different types.
        case type
        /// The values differ.
        case value
        /// Only the variants differ, after translation by the mapping.
        case variant
        /// Only the reasons differ.
        case reason

        /// Whether a user could notice; variants and reasons are only the vendors' words.
        public var isVisible: Bool { self != .variant && self != .reason }
    }

    /// One vendor's answer.
    public struct Answer: Sendable, Hashable {
        /// The flag's resolution; `nil` if the vendor doesn't have the flag.
        public var resolution: Resolution?
        /// The error, if there was no answer at all.
        public var failure: ErrorCode?
        /// The time that the vendor took.
        public var latency: Duration
        /// The version of its configuration; `nil` if unknown.
        public var version: String?
        /// The age of its configuration.
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
    /// The type of the value, from the vendor that has one.
    public var type: String
    /// The class of the mismatch.
    public var kind: Kind
    /// The vendor that answered the user.
    public var leader: MigrationSide
    /// The old vendor's answer.
    public var old: Answer
    /// The new vendor's answer.
    public var new: Answer
    /// A digest of the user's id; never the id itself.
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
