import Experimentation
import Synchronization

/// Deletes the ids of past days: a few days with each call, and in portions, so that no store is under load for long.
final class Forgetting: Sendable {
    /// The days to check, from the latest one back.
    private struct Round {
        let begun: Int
        var next: Int
        let end: Int
    }

    private struct State {
        var round: Round?
        /// The last day on which everything was deleted; `nil` before the first time in this process.
        var done: Int?
    }

    private let seen: SeenEvents
    private let state = Mutex(State())

    /// How many days back earlier runs may have left ids.
    private static let longestAgo = 400
    /// How many days one call checks.
    private static let daysOfLook = 8

    init(_ seen: SeenEvents) { self.seen = seen }

    /// Deletes what is older than yesterday, once a day; called periodically.
    ///
    /// Deleting what earlier runs may have left takes several calls.
    ///
    /// - Throws: `ErrorCode.store`, and `ErrorCode.cancelled` if the task is cancelled; the next call continues.
    func look() async throws(ExperimentationError) {
        let today = seen.today
        let round = state.withLock { state -> Round? in
            if state.done == today { return nil }
            if let round = state.round, round.begun == today { return round }
            let end = max(today - Self.longestAgo, state.done.map { $0 - 1 } ?? .min)
            return Round(begun: today, next: today - 2, end: end)
        }
        guard var round else { return }
        let last = max(round.end, round.next - Self.daysOfLook + 1)
        while round.next >= last {
            try await seen.forget(day: round.next)
            round.next -= 1
            let ended = round
            state.withLock { $0.round = ended }
        }
        if round.next < round.end { state.withLock { $0 = State(done: today) } }
    }
}

extension SeenEvents {
    /// The approximate number of ids that one transaction deletes.
    private static let portion = 5_000
    /// The prefix of the digests in the sample from which the number of a day's ids is estimated.
    private static let sample = "000"
    /// How many samples there are.
    private static let samples = 4_096

    /// Deletes the ids of a day.
    ///
    /// - Throws: `ErrorCode.store`, and `ErrorCode.cancelled` between two portions.
    fileprivate func forget(day: Int) async throws(ExperimentationError) {
        // Digests are spread evenly, so a sample shows how many there are without a list of all.
        let found = try await state.keys(beginningWith: key(Self.sample, day: day)).count
        // A removal rewrites a file, so a day without ids is skipped.
        if found == 0, try await state.keys(beginningWith: key("", day: day)).isEmpty { return }
        var digits = 0
        while digits < Self.sample.count, found * (Self.samples >> (4 * digits)) > Self.portion { digits += 1 }
        let portions = 1 << (4 * digits)
        for number in 0..<portions {
            if Task.isCancelled { throw ExperimentationError(.cancelled, "The ids of past days are deleted later.") }
            // The digits of the number, with leading zeros.
            let beginning = String(String(number + portions, radix: 16).dropFirst())
            try await state.removeAll(beginningWith: key(beginning, day: day))
        }
    }
}
