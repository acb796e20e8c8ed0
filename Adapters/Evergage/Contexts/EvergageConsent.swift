import Experimentation

/// What the user says about tracking, and what of it is still to be done.
struct EvergageConsent: Sendable {
    /// A statement that differs from the one before.
    struct Change: Sendable {
        /// What was stated.
        var consent: Consent
        /// The user at the time.
        var userID: String?
        /// Whether there was a session at the time: a later one begins with what was stated last.
        var isForSession = true
    }

    /// What was stated last; in an earlier run, if nothing has been stated in this one.
    var current = Consent.unknown
    /// Whether anything has been stated in this run.
    var isStated = false
    /// The number of changes that aren't carried out yet; what is captured meanwhile waits.
    var underWay = 0
    /// The latest change that was carried out, if a store failed meanwhile.
    var unfinished: Change?
}
