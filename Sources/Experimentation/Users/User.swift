/// The person, or the device, that decisions are made for.
public struct User: Sendable, Hashable, Codable {
    /// The id that the vendor decides by.
    ///
    /// Each adapter's README gives the vendor's own term.
    public var id: String

    /// The id from before the user was known, if there was such a time.
    public var anonymousID: String?

    /// Whether ``id`` names a signed-in person rather than a device or a visit.
    public var isAuthenticated: Bool

    /// What is known of the user.
    public var attributes: Attributes

    /// Whether the user lets this application track.
    public var consent: Consent

    /// Creates a user.
    ///
    /// - Parameters:
    ///   - id: The id that the vendor decides by; not empty.
    ///   - anonymousID: The id from before the user was known.
    ///   - isAuthenticated: Whether `id` names a signed-in person.
    ///   - attributes: What is known of the user.
    ///   - consent: Whether the user lets this application track.
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

    /// The ids alone, as events carry them.
    public var identity: Identity {
        Identity(id: id, anonymousID: anonymousID, isAuthenticated: isAuthenticated)
    }
}

extension User {
    /// Compares users; ids are equal only byte by byte, however Unicode would have it.
    public static func == (one: User, other: User) -> Bool {
        one.identity == other.identity && one.consent == other.consent && one.attributes == other.attributes
    }

    /// Hashes what is compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
        hasher.combine(consent)
        hasher.combine(attributes)
    }
}

/// Who did something: a user's ids at one moment.
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

    /// Compares ids byte by byte: two that Unicode calls equal can be two people's.
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
