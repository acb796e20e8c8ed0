import AdapterKit
import Experimentation

/// What a server has, as whoever runs it says: what can't be found out by asking.
///
/// Everything may be left out; cases that need it are skipped with the reason.
public struct ServerDeclaration: Sendable {
    /// The type of a flag, which the wire doesn't tell.
    public enum DeclaredType: String, Sendable, Hashable, CaseIterable {
        /// `true` or `false`.
        case boolean
        /// A text.
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

    /// The features that it must show; `nil` to find out, and to skip what isn't there.
    public var features: Set<ServerFeature>?
    /// The context that is asked with; a targeting key alone unless named.
    public var context: [String: FlagValue] = ["targetingKey": "suite-user"]
    /// Attributes that make another bulk answer for the same targeting key.
    public var otherAttributes: [String: FlagValue] = [:]
    /// The types of flags.
    public var types: [String: DeclaredType] = [:]
    /// A token of somebody who sees other flags.
    public var otherToken: Secret?
    /// A token that has used up what it may ask.
    public var exhaustedToken: Secret?
    /// The bytes of a body that are too many.
    public var tooManyBodyBytes: Int?
    /// Has the server tell its event streams of a change.
    public var change: Trigger?
    /// Has the server end in order; the last case uses it.
    public var shutDown: Trigger?

    /// Creates an empty declaration.
    public init() {}
}
