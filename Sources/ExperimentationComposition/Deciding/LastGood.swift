import Experimentation

/// What each vendor last said about recent users.
struct LastGood {
    private struct Saying {
        let decisions: Decisions
        let question: UInt64
    }

    private var sayings: RecentlyUsed<[Int: Saying]>
    private var questions: UInt64 = 0

    /// Creates it empty, for a maximum number of users.
    init(limit: Int) { sayings = RecentlyUsed(limit: limit) }

    /// Numbers a question for a user.
    ///
    /// - Returns: What each vendor last said, by its position, and the question's number.
    mutating func ask(for id: ExactText) -> ([Int: Decisions], UInt64) {
        questions += 1
        return (sayings.use(id)?.mapValues(\.decisions) ?? [:], questions)
    }

    /// Keeps each vendor's answer to a question, unless the vendor has answered a later one meanwhile.
    ///
    /// - Parameters:
    ///   - good: What each vendor says, by its position; `nil` for one that says nothing.
    ///   - question: The question's number.
    ///   - id: The user.
    mutating func keep(_ good: [Decisions?], to question: UInt64, for id: ExactText) {
        var kept = sayings.use(id) ?? [:]
        for (place, decisions) in good.enumerated() {
            guard let decisions, kept[place].map({ $0.question < question }) ?? true else { continue }
            kept[place] = Saying(decisions: decisions, question: question)
        }
        sayings.keep(kept, for: id, weighing: 1)
    }

    /// Removes what was said about a user.
    mutating func remove(_ id: ExactText) { sayings.remove(id) }
}
