import AdapterKit
import Experimentation

/// The body of an evaluation: whom to decide for.
struct EvaluationRequest: Sendable, Equatable {
    /// The user that the context describes.
    let user: User

    /// Reads a body.
    ///
    /// A body without a context, and an empty one, mean a context without members: a real client sends them where nothing
    /// is known. `anonymousId`, `authenticated` and `consent` say what a `User` has a place for, if they are of its types;
    /// every other member is an attribute.
    ///
    /// - Parameters:
    ///   - body: JSON, or nothing.
    ///   - consent: What counts as said by a user whose context doesn't say.
    /// - Throws: ``ProtocolError/Code/parseError``, ``ProtocolError/Code/invalidContext``,
    ///   ``ProtocolError/Code/targetingKeyMissing``.
    init(body: [UInt8], consent: Consent) throws(ProtocolError) {
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
        user = try Self.user(context, consent)
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
        if let said = attributes["consent"].flatMap(Self.consent) {
            user.consent = said
            attributes["consent"] = nil
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
