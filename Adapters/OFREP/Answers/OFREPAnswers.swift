import Experimentation

/// The last good answer for each user, so that the server can confirm it with 304; bounded in bytes.
///
/// An answer is stored with the exact bytes of its question: a validator is sent only with the attributes that it was
/// issued for.
struct OFREPAnswers: Sendable {
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

    private struct Entry {
        var answer: Answer
        var use: Int
    }

    private let limit: Int
    private var entries: [[UInt8]: Entry] = [:]
    private var uses = 0
    private(set) var weight = 0

    /// Creates a collection with a limit on the total weight of its answers.
    init(limit: Int) { self.limit = limit }

    var count: Int { entries.count }

    /// Returns the user's last answer if it belongs to this question.
    mutating func answer(to question: [UInt8], of userID: String) -> Answer? {
        let id = Array(userID.utf8)
        guard let entry = entries[id], entry.answer.question == question else { return nil }
        uses += 1
        entries[id]?.use = uses
        return entry.answer
    }

    /// Replaces the user's answer; over the limit, evicts the least recently used ones.
    mutating func keep(_ answer: Answer, of userID: String) {
        forget(userID)
        guard answer.weight <= limit else { return }
        uses += 1
        entries[Array(userID.utf8)] = Entry(answer: answer, use: uses)
        weight += answer.weight
        guard weight > limit else { return }
        // Evicts down to 7/8 of the limit, so that not every new answer causes a sort.
        for (id, entry) in entries.sorted(by: { $0.value.use < $1.value.use }) where weight > limit - limit / 8 {
            guard entry.use != uses else { break }
            entries[id] = nil
            weight -= entry.answer.weight
        }
    }

    /// Records that the answer to a question is still valid.
    ///
    /// - Returns: Whether it is still the user's answer.
    mutating func confirm(_ question: [UInt8], of userID: String, at change: Int?) -> Bool {
        let id = Array(userID.utf8)
        guard entries[id]?.answer.question == question else { return false }
        if let change { entries[id]?.answer.change = change }
        return true
    }

    /// Removes the user's answer.
    mutating func forget(_ userID: String) {
        if let old = entries.removeValue(forKey: Array(userID.utf8)) { weight -= old.answer.weight }
    }
}
