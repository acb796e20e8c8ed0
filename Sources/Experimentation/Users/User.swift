/// The person or device that decisions are made for.
public struct User: Sendable, Hashable, Codable {
    /// The id that the vendor decides by.
    ///
    /// Each adapter's README gives the vendor's own term. Where the id is empty, the client uses ``anonymousID``
    /// instead.
    public var id: String

    /// The id from before the user was known, if any.
    public var anonymousID: String?

    /// Whether ``id`` names a signed-in person rather than a device or a visit.
    public var isAuthenticated: Bool

    /// The user's attributes.
    public var attributes: Attributes

    /// The user's consent to tracking.
    public var consent: Consent

    /// Creates a user.
    ///
    /// - Parameters:
    ///   - id: The id that the vendor decides by; not empty.
    ///   - anonymousID: The id from before the user was known.
    ///   - isAuthenticated: Whether `id` names a signed-in person.
    ///   - attributes: The user's attributes.
    ///   - consent: The user's consent to tracking.
    public init(
        id: String,
        anonymousID: String? = nil,
        isAuthenticated: Bool = false,
        attributes: Attributes = [:],
        consent: Consent = .unknown
    ) {
        self.id = id
        self.anonymousID = anonymousID
        self.isAuthenticated = isAuthenticated
        self.attributes = attributes
        self.consent = consent
    }

    /// Creates a user with these ids.
    package init(_ identity: Identity, attributes: Attributes = [:], consent: Consent = .unknown) {
        self.init(
            id: identity.id,
            anonymousID: identity.anonymousID,
            isAuthenticated: identity.isAuthenticated,
            attributes: attributes,
            consent: consent
        )
    }

    /// The ids alone, as events carry them.
    public var identity: Identity {
        Identity(id: id, anonymousID: anonymousID, isAuthenticated: isAuthenticated)
    }
}

extension User {
    /// The user with an id of their own, if they have either one.
    var identified: User {
        guard id.isEmpty else { return self }
        var user = self
        let identity = identity.identified
        (user.id, user.isAuthenticated) = (identity.id, identity.isAuthenticated)
        return user
    }
}

extension Identity {
    /// The identity with an id of its own, if it has either one.
    ///
    /// Consent, order and whatever is stored go by ``id``, and all users without an id would share the empty one.
    var identified: Identity {
        guard id.isEmpty, let anonymousID else { return self }
        return Identity(id: anonymousID, anonymousID: anonymousID)
    }
}

extension User {
    /// Compares users; ids are compared byte by byte, not by Unicode equivalence.
    public static func == (one: User, other: User) -> Bool {
        one.identity == other.identity && one.consent == other.consent && one.attributes == other.attributes
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
        hasher.combine(consent)
        hasher.combine(attributes)
    }
}

/// A user's ids at one moment.
public struct Identity: Sendable, Hashable, Codable {
    /// The id that the vendor decides by.
    public var id: String
    /// The id from before the user was known.
    public var anonymousID: String?
    /// Whether ``id`` names a signed-in person.
    public var isAuthenticated: Bool

    /// Creates an identity.
    public init(id: String, anonymousID: String? = nil, isAuthenticated: Bool = false) {
        self.id = id
        self.anonymousID = anonymousID
        self.isAuthenticated = isAuthenticated
    }

    /// Compares ids byte by byte: two that are equivalent in Unicode may belong to different people.
    public static func == (one: Identity, other: Identity) -> Bool {
        one.isAuthenticated == other.isAuthenticated && ExactText(one.id) == ExactText(other.id)
            && one.anonymousID.map(ExactText.init) == other.anonymousID.map(ExactText.init)
    }

    /// Hashes the ids' bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(id))
        hasher.combine(anonymousID.map(ExactText.init))
        hasher.combine(isAuthenticated)
    }
}
