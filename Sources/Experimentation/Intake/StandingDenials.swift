import Synchronization

/// A denial of consent whose consequences aren't all carried out yet.
final class StandingDenial: Sendable {
    private let hasEnded = Atomic(false)

    /// Whether the user hasn't consented since, in whatever session.
    var isLastWord: Bool { !hasEnded.load(ordering: .acquiring) }

    fileprivate func overrule() { hasEnded.store(true, ordering: .releasing) }
}

/// The users whose last word in this run is a denial, and the consequences that aren't all carried out yet.
///
/// A consequence that fails is owed and tried again; once the user has consented again, it would undo that. Statements
/// are entered here in the order of the line, so that the user's last word counts, whichever session it came from.
struct StandingDenials {
    /// The denials of each such user whose consequences aren't all carried out yet.
    private var denials: [ExactText: [StandingDenial]] = [:]

    /// Enters a denial that has just joined the line.
    mutating func deny(_ denial: StandingDenial, of userID: String) {
        denials[ExactText(userID), default: []].append(denial)
    }

    /// Enters consent that has just joined the line.
    mutating func grant(_ userID: String) {
        if denials.isEmpty { return }
        for denial in denials.removeValue(forKey: ExactText(userID)) ?? [] { denial.overrule() }
    }

    /// Whether a user's last word is a denial.
    func contain(_ userID: String) -> Bool { denials[ExactText(userID)] != nil }

    /// Forgets a denial's consequences; it stays the user's last word.
    mutating func end(_ denial: StandingDenial, of user: ExactText) {
        denials[user]?.removeAll { $0 === denial }
    }
}
