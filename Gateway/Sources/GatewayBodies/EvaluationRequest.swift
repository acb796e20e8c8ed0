import AdapterKit
import Experimentation

/// The body of an evaluation request.
package struct EvaluationRequest: Sendable, Equatable {
    /// The user described by the context.
    package let user: User
    /// Whether the context stated the consent; otherwise it is the tenant's default, which no user has stated.
    package let isConsentStated: Bool

    /// The maximum number of bytes in a `targetingKey`; limited because caches by user are bounded in users, not in
    /// bytes.
    private static let longestKey = 4_096

    /// Creates the request for a user.
    package init(user: User, isConsentStated: Bool) {
        (self.user, self.isConsentStated) = (user, isConsentStated)
    }

    /// Parses a body.
    ///
    /// An empty body, or one without a context, means an empty context: a real client sends these if nothing is known.
    /// `anonymousId`, `authenticated` and `consent` set the properties of the `User` if they have the right types; all
    /// other members are attributes.
    ///
    /// - Parameters:
    ///   - body: JSON, or nothing.
    ///   - consent: The consent of a user whose context states none.
    /// - Throws: ``ProtocolError/Code/parseError``, ``ProtocolError/Code/invalidContext``,
    ///   ``ProtocolError/Code/targetingKeyMissing``.
    package init(body: [UInt8], consent: Consent) throws(ProtocolError) {
        let document = try Self.document(body)
        guard case .object(let members) = document else {
            throw ProtocolError(.parseError, "The body: expected an object with a \"context\".")
        }
        var context: [String: FlagValue] = [:]
        switch members["context"] {
        case nil, .null: break
        case .object(let members): context = members
        default: throw ProtocolError(.invalidContext, "context: expected an object.")
        }
        let said = context["consent"].flatMap(Self.consent)
        if said != nil { context["consent"] = nil }
        self.init(user: try Self.user(context, said ?? consent), isConsentStated: said != nil)
    }

    private static func document(_ body: [UInt8]) throws(ProtocolError) -> FlagValue {
        guard !body.isEmpty else { return [:] }
        do throws(ExperimentationError) { return try JSON.parse(body) } catch {
            throw ProtocolError(.parseError, "The body: \(error.message)")
        }
    }

    private static func user(_ context: [String: FlagValue], _ consent: Consent) throws(ProtocolError) -> User {
        var attributes = context
        let id: String
        switch attributes.removeValue(forKey: "targetingKey") {
        case .string(let key) where key.utf8.count > longestKey:
            throw ProtocolError(.invalidContext, "context.targetingKey: expected at most \(longestKey) bytes.")
        case .string(let key) where !key.isEmpty: id = key
        case nil, .null, .string:
            throw ProtocolError(.targetingKeyMissing, "context.targetingKey: missing; decisions are made for a user.")
        default: throw ProtocolError(.invalidContext, "context.targetingKey: expected a text.")
        }
        var user = User(id: id, consent: consent)
        if case .string(let anonymousID) = attributes["anonymousId"] {
            user.anonymousID = anonymousID
            attributes["anonymousId"] = nil
        }
        if case .bool(let isAuthenticated) = attributes["authenticated"] {
            user.isAuthenticated = isAuthenticated
            attributes["authenticated"] = nil
        }
        user.attributes = Attributes(attributes)
        return user
    }

    private static func consent(_ value: FlagValue) -> Consent? {
        switch value {
        case .bool(let isGranted): isGranted ? .granted : .denied
        case .string(let word): Consent(rawValue: word)
        default: nil
        }
    }
}
