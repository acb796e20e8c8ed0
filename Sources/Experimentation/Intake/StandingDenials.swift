import Synchronization

/// A denial of consent whose consequences aren't all carried out yet.
final class StandingDenial: Sendable {
    private let hasEnded = Atomic(false)

    /// Whether the user hasn't consented since, in any session.
    var isLastWord: Bool { !hasEnded.load(ordering: .acquiring) }

    fileprivate func overrule() { hasEnded.store(true, ordering: .releasing) }
}

/// The users whose latest choice in this run is a denial, and the consequences that aren't all carried out yet.
///
/// A consequence that fails is owed and tried again; once the user has consented again, it would undo that consent.
/// Statements are entered here in the order of the line, so that the user's latest choice counts, whichever session it
/// came from.
///
/// Once its consequences are carried out, a denial is remembered as long as it is among the latest, because a server
/// may receive any number of them.
struct StandingDenials {
    /// The denials of each user whose consequences aren't all carried out yet.
    private var open: [ExactText: [StandingDenial]] = [:]
    /// The users whose denials are carried out: the latest, and those before them.
    private var (latest, former): (Set<ExactText>, Set<ExactText>) = ([], [])
    private let leastRemembered: Int

    /// Creates a memory without denials.
    ///
    /// - Parameter leastRemembered: How many denials without open consequences are remembered; at most twice as many.
    init(leastRemembered: Int = 50_000) { self.leastRemembered = leastRemembered }

    /// Enters a denial that has just joined the line.
    mutating func deny(_ denial: StandingDenial, of userID: String) {
        open[ExactText(userID), default: []].append(denial)
    }

    /// Enters consent that has just joined the line.
    mutating func grant(_ userID: String) {
        if open.isEmpty, latest.isEmpty, former.isEmpty { return }
        let user = ExactText(userID)
        for denial in open.removeValue(forKey: user) ?? [] { denial.overrule() }
        latest.remove(user)
        former.remove(user)
    }

    /// Whether a user's latest choice is a denial, as far as that is remembered.
    func contain(_ userID: String) -> Bool {
        let user = ExactText(userID)
        return open[user] != nil || latest.contains(user) || former.contains(user)
    }

    /// Forgets a denial's consequences; the denial stays the user's latest choice.
    mutating func end(_ denial: StandingDenial, of user: ExactText) {
        guard var denials = open[user] else { return }
        denials.removeAll { $0 === denial }
        open[user] = denials.isEmpty ? nil : denials
        guard denials.isEmpty else { return }
        if latest.count >= leastRemembered { (former, latest) = (latest, []) }
        latest.insert(user)
    }
}
