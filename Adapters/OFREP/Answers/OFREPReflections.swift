import Experimentation

/// Which change the last answer to each question reflects; bounded in users and in questions per user.
struct OFREPReflections {
    private static let mostUsers = 16_384
    private static let mostQuestions = 8

    /// For each user, the number of the change by question.
    private var users = RecentlyUsed<[Int: Int]>(limit: mostUsers)

    /// Records that the answer to a question reflects a change and all before it.
    mutating func note(_ question: [UInt8], of userID: String, at change: Int) {
        var changes = users.use(ExactText(userID)) ?? [:]
        let number = question.hashValue
        if changes[number] == nil, changes.count >= Self.mostQuestions { changes = [:] }
        changes[number] = max(changes[number] ?? 0, change)
        users.keep(changes, for: ExactText(userID), weighing: 1)
    }

    /// Returns whether a user's last answer to a question predates a change; `false` for a user without answers.
    mutating func lacks(_ change: Int, _ question: [UInt8], of userID: String) -> Bool {
        guard let changes = users.use(ExactText(userID)) else { return false }
        // A question that is asked for the first time continues the user's last one.
        let last = changes[question.hashValue] ?? changes.values.max()
        return last.map { $0 < change } ?? false
    }

    /// Removes everything recorded for a user.
    mutating func forget(_ userID: String) { users.remove(ExactText(userID)) }
}
