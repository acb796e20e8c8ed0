import Synchronization

/// The linkings under way, by the user they start from: one at a time for each user, because they share what is stored.
final class LinksUnderWay: Sendable {
    private final class Entry: Sendable {
        let from: Identity
        let hasEnded = AsyncGate()
        let outcome = Mutex<StoredLink?>(nil)

        init(from: Identity) { self.from = from }
    }

    private let entries = Mutex<[ExactText: Entry]>([:])

    /// Takes the steps of a linking, once those of an earlier linking of the same user have ended.
    ///
    /// - Parameters:
    ///   - link: The requested linking.
    ///   - steps: Takes the steps.
    /// - Returns: The completed linking; the earlier one if its request was the same.
    /// - Throws: What the steps throw; ``ErrorCode/cancelled`` if this task is cancelled before its turn.
    func run(
        _ link: StoredLink,
        _ steps: () async throws(ExperimentationError) -> StoredLink
    ) async throws(ExperimentationError) -> StoredLink {
        let own = Entry(from: link.progress.from)
        let user = ExactText(own.from.id)
        while let earlier = claim(user, for: own) {
            guard await earlier.hasEnded.wait() else {
                throw ExperimentationError(.cancelled, "The task was cancelled.")
            }
            let outcome = earlier.outcome.withLock { $0 }
            if let outcome, earlier.from == own.from, outcome.asksFor(link.to, link.criteria) { return outcome }
        }
        defer {
            entries.withLock { $0[user] = nil }
            own.hasEnded.open()
        }
        let completed = try await steps()
        own.outcome.withLock { $0 = completed }
        return completed
    }

    /// Enters a linking, unless the same user already has one.
    ///
    /// - Returns: The existing linking, if there is one.
    private func claim(_ user: ExactText, for own: Entry) -> Entry? {
        entries.withLock { entries in
            if let earlier = entries[user] { return earlier }
            entries[user] = own
            return nil
        }
    }
}
