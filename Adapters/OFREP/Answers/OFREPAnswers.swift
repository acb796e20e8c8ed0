import Experimentation

/// The last good answer for each user, so that a server need not send it again; bounded in bytes.
///
/// An answer belongs to the question that it answers, byte by byte: a validator is never sent along with other attributes
/// than those that it was given for.
struct OFREPAnswers: Sendable {
    /// A good answer.
    struct Answer: Sendable {
        /// What was asked.
        var question: [UInt8]
        /// What to ask with next time.
        var validator: String?
        var decisions: Decisions
        /// The number of the last change that it takes account of.
        var change: Int
        /// What it takes to hold it, in bytes, roughly.
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

    /// Creates a collection of answers that weigh no more than a limit together.
    init(limit: Int) { self.limit = limit }

    var count: Int { entries.count }

    /// The answer to a question of a user, if it is the last one that they were given.
    mutating func answer(to question: [UInt8], of userID: String) -> Answer? {
        let id = Array(userID.utf8)
        guard let entry = entries[id], entry.answer.question == question else { return nil }
        uses += 1
        entries[id]?.use = uses
        return entry.answer
    }

    /// Keeps an answer in place of the user's last, and lets go of those unused for longest.
    mutating func keep(_ answer: Answer, of userID: String) {
        forget(userID)
        guard answer.weight <= limit else { return }
        uses += 1
        entries[Array(userID.utf8)] = Entry(answer: answer, use: uses)
        weight += answer.weight
        guard weight > limit else { return }
        // Some more than must go, so that it isn't done for every answer.
        for (id, entry) in entries.sorted(by: { $0.value.use < $1.value.use }) where weight > limit - limit / 8 {
            guard entry.use != uses else { break }
            entries[id] = nil
            weight -= entry.answer.weight
        }
    }

    /// Notes that the answer to a question still holds.
    mutating func confirm(_ question: [UInt8], of userID: String, at change: Int?) {
        let id = Array(userID.utf8)
        guard let change, entries[id]?.answer.question == question else { return }
        entries[id]?.answer.change = change
    }

    /// Forgets what a user was answered.
    mutating func forget(_ userID: String) {
        if let old = entries.removeValue(forKey: Array(userID.utf8)) { weight -= old.answer.weight }
    }
}
