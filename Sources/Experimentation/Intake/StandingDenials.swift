import Synchronization

/// A denial of consent whose consequences aren't all carried out yet.
final class StandingDenial: Sendable {
    private let hasEnded = Atomic(false)

    /// Whether the user hasn't consented since, in whatever session.
    var isLastWord: Bool { !hasEnded.load(ordering: .acquiring) }

    fileprivate func overrule() { hasEnded.store(true, ordering: .releasing) }
}

/// The denials whose consequences aren't all carried out yet, by user.
///
/// A consequence that fails is owed and tried again; once the user has consented again, it would undo that. Statements
/// are entered here in the order of the line, so that the user's last word counts, whichever session it came from.
struct StandingDenials {
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

    /// Whether there is one by this user.
    func contain(_ userID: String) -> Bool { denials[ExactText(userID)] != nil }

    /// Forgets a denial.
    mutating func end(_ denial: StandingDenial, of user: ExactText) {
        denials[user]?.removeAll { $0 === denial }
        if denials[user]?.isEmpty == true { denials[user] = nil }
    }
}
