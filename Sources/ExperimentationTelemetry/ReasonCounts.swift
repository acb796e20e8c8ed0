import Experimentation

/// The counts of a variant by reason and error; bounded, because reasons come from the vendor.
struct ReasonCounts: Sendable {
    /// How often a variant had a reason and an error.
    struct Entry: Sendable, Equatable {
        let reason: Reason
        let error: ErrorCode?
        var count: Int
    }

    private(set) var entries: [Entry] = []

    /// The maximum number of entries, not counting the one for all others.
    static let limit = EvaluationTally.mostVariants

    /// Counts an evaluation.
    mutating func add(_ reason: Reason, _ error: ErrorCode?) {
        if let index = entries.firstIndex(where: { $0.reason == reason && $0.error == error }) {
            entries[index].count += 1
            return
        }
        let others = Reason(rawValue: EvaluationTally.others)
        guard entries.count < Self.limit || (reason == others && error == nil) else { return add(others, nil) }
        entries.append(Entry(reason: reason, error: error, count: 1))
    }

    /// Returns the entries that were counted since the last call.
    mutating func take() -> [Entry] {
        let counted = entries.filter { $0.count > 0 }
        for index in entries.indices { entries[index].count = 0 }
        return counted
    }
}
