import Experimentation

/// The user's statement about tracking, and what remains to be done to carry it out.
struct EvergageConsent: Sendable {
    /// A statement that differs from the one before.
    struct Change: Sendable {
        /// What was stated.
        var consent: Consent
        /// The user at the time.
        var userID: String?
        /// Whether there was a session at the time; a later session begins with the last statement.
        var isForSession = true
    }

    /// The last statement; an earlier run's if there was none in this run.
    var current = Consent.unknown
    /// Whether anything has been stated in this run.
    var isStated = false
    /// The number of changes that aren't carried out yet; calls captured meanwhile wait.
    var underWay = 0
    /// The latest change that was carried out, if a store failed in the process.
    var unfinished: Change?
}
