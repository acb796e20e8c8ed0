import AdapterKit
import Experimentation

/// What a server's operator declares about it because it can't be detected.
///
/// Everything is optional; cases that need a missing declaration are skipped with the reason.
public struct ServerDeclaration: Sendable {
    /// The type of a flag, which the wire doesn't carry.
    public enum DeclaredType: String, Sendable, Hashable, CaseIterable {
        /// `true` or `false`.
        case boolean
        /// A string.
        case string
        /// A number that is written without a fraction.
        case integer
        /// A number that is written with a fraction.
        case float
        /// An object.
        case object
    }

    /// A request that makes the server do something, such as publish a change.
    public struct Trigger: Sendable {
        let fire: @Sendable () async throws -> Void

        /// Creates a trigger.
        public init(_ fire: @escaping @Sendable () async throws -> Void) { self.fire = fire }
    }

    /// The features that it must have; `nil` to detect them and skip the missing ones.
    public var features: Set<ServerFeature>?
    /// The context of requests; by default only a targeting key.
    public var context: [String: FlagValue] = ["targetingKey": "suite-user"]
    /// Attributes that change the bulk answer for the same targeting key.
    public var otherAttributes: [String: FlagValue] = [:]
    /// The types of flags, by key.
    public var types: [String: DeclaredType] = [:]
    /// The token of a client that sees other flags.
    public var otherToken: Secret?
    /// A token whose rate limit is exhausted.
    public var exhaustedToken: Secret?
    /// A body size, in bytes, that exceeds the server's limit.
    public var tooManyBodyBytes: Int?
    /// Makes the server announce a change on its event streams.
    public var change: Trigger?
    /// Makes the server shut down gracefully; used by the last case.
    public var shutDown: Trigger?

    /// Creates an empty declaration.
    public init() {}
}
