import Experimentation

/// The last good answer for each user, so that the server can confirm it with 304; bounded in bytes.
///
/// An answer is stored with the exact bytes of its question: a validator is sent only with the attributes that it was
/// issued for.
struct OFREPAnswers {
    /// A good answer.
    struct Answer: Sendable {
        /// The question that it answers.
        var question: [UInt8]
        /// The `ETag` for the next request.
        var validator: String?
        var decisions: Decisions
        /// The event streams announced with it.
        var streams: [OFREPStream.Announcement] = []
        /// The number of the last change that it reflects.
        var change: Int
        /// The approximate size in memory, in bytes.
        var weight: Int
    }

    private let limit: Int
    private var answers: RecentlyUsed<Answer>

    /// Creates a collection with a limit on the total weight of its answers.
    init(limit: Int) {
        self.limit = limit
        answers = RecentlyUsed(limit: limit)
    }

    /// Returns the user's last answer if it belongs to this question.
    mutating func answer(to question: [UInt8], of userID: String) -> Answer? {
        guard let answer = answers.use(ExactText(userID)), answer.question == question else { return nil }
        return answer
    }

    /// Replaces the user's answer; over the limit, evicts the least recently used ones.
    mutating func keep(_ answer: Answer, of userID: String) {
        // The cache would keep one answer even if it alone exceeded the limit.
        guard answer.weight <= limit else { return forget(userID) }
        answers.keep(answer, for: ExactText(userID), weighing: answer.weight)
    }

    /// Records that the answer to a question is still valid.
    ///
    /// - Returns: Whether it is still the user's answer.
    mutating func confirm(_ question: [UInt8], of userID: String, at change: Int?) -> Bool {
        guard var answer = answer(to: question, of: userID) else { return false }
        answer.change = change ?? answer.change
        keep(answer, of: userID)
        return true
    }

    /// Removes the user's answer.
    mutating func forget(_ userID: String) { answers.remove(ExactText(userID)) }
}
