import Experimentation

/// A visitor's two ids, and how signing in and out changes them; pure.
struct FlagshipIdentity: Sendable, Hashable {
    private(set) var visitorID: String
    private(set) var anonymousID: String?
    private(set) var isAuthenticated: Bool

    /// Creates the ids of a new visitor.
    ///
    /// - Parameters:
    ///   - visitorID: The id; if it is empty, one is generated.
    ///   - isAuthenticated: Whether the id names a signed-in person.
    ///   - makeID: Generates an id.
    ///   - deviceID: The id of this installation, used for the anonymous visitor once a user has signed in.
    init(visitorID: String, isAuthenticated: Bool, makeID: () -> String, deviceID: () -> String) {
        self.visitorID = visitorID.isEmpty ? makeID().uppercased() : visitorID
        self.isAuthenticated = isAuthenticated
        anonymousID = isAuthenticated ? deviceID() : nil
    }

    /// Signs in: the previous id becomes the anonymous one, unless there is one already.
    ///
    /// - Returns: Whether anything changed.
    mutating func authenticate(_ id: String) -> Bool {
        guard !id.isEmpty else { return false }
        let before = self
        if anonymousID == nil { anonymousID = visitorID }
        visitorID = id
        isAuthenticated = true
        return before != self
    }

    /// Signs out: the anonymous id becomes the visitor's again.
    ///
    /// - Returns: Whether anything changed.
    mutating func unauthenticate() -> Bool {
        let before = self
        if let anonymousID { visitorID = anonymousID }
        anonymousID = nil
        isAuthenticated = false
        return before != self
    }

    /// The visitor's ids, current and from before signing in.
    var ids: [String] { [visitorID] + (anonymousID.map { [$0] } ?? []) }

    /// Compares ids byte by byte, as the core does.
    static func == (one: Self, other: Self) -> Bool { one.neutral == other.neutral }

    func hash(into hasher: inout Hasher) { hasher.combine(neutral) }

    /// The ids in the core's form.
    var neutral: Identity { Identity(id: visitorID, anonymousID: anonymousID, isAuthenticated: isAuthenticated) }
}
