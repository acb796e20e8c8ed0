import Experimentation

/// What the user says about tracking, and how much of it the session knows: pure.
struct EvergageConsent: Sendable {
    /// A statement that differs from the one before.
    struct Change: Sendable {
        fileprivate var number: Int
        /// What was stated.
        var consent: Consent
        /// The user at the time.
        var userID: String?
    }

    /// What was stated last.
    private(set) var current = Consent.unknown
    /// The latest change that was carried out, if a store failed meanwhile.
    var unfinished: Change?
    private var changes = 0
    /// The number of the latest change that the session knows of.
    private var known = 0

    /// Whether the session knows of every change; what is captured meanwhile waits.
    var isKnown: Bool { known == changes }

    /// Notes a statement.
    ///
    /// - Returns: What changes by it; `nil` for nothing: `unknown` states nothing, and takes back neither a denial nor consent.
    mutating func change(to consent: Consent, by userID: String?) -> Change? {
        if consent == current || consent == .unknown { return nil }
        current = consent
        changes += 1
        return latest(by: userID)
    }

    /// Returns what was stated last, as a user's statement.
    func latest(by userID: String?) -> Change { Change(number: changes, consent: current, userID: userID) }

    /// Resumes what was stated in an earlier run, unless something was stated in this one.
    mutating func restore(_ stored: Consent) { if changes == 0 { current = stored } }

    /// Notes that a session has begun, with what was stated last.
    mutating func sessionBegan() { known = changes }

    /// Whether the session has heard of a later change.
    func isOutdated(_ change: Change) -> Bool { change.number < known }

    /// Notes that the session has been told of a change.
    mutating func told(_ change: Change) { known = change.number }
}
