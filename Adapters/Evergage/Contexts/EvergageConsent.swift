import Experimentation

/// What the user says about tracking, and how much of it the session knows: pure.
struct EvergageConsent: Sendable {
    /// A statement that differs from the one before.
    struct Change: Sendable {
        fileprivate var number: Int
        /// What was stated.
        var consent: Consent
    }

    /// What was stated last.
    private(set) var current = Consent.unknown
    private var changes = 0
    /// The number of the latest change that the session knows of.
    private var known = 0

    /// Whether the session knows of every change; what is captured meanwhile waits.
    var isKnown: Bool { known == changes }

    /// Notes a statement.
    ///
    /// - Returns: What changes by it; `nil` for nothing: a denial ends only when consent is given.
    mutating func change(to consent: Consent) -> Change? {
        if consent == current || (consent == .unknown && current == .denied) { return nil }
        current = consent
        changes += 1
        return Change(number: changes, consent: consent)
    }

    /// Resumes what was stated in an earlier run, unless something was stated in this one.
    mutating func restore(_ stored: Consent) { if changes == 0 { current = stored } }

    /// Notes that a session has begun, with what was stated last.
    mutating func sessionBegan() { known = changes }

    /// Whether the session hasn't heard of a change, or of a later one.
    func isNews(_ change: Change) -> Bool { change.number > known }

    /// Notes that the session has been told of a change.
    mutating func told(_ change: Change) { known = change.number }
}
