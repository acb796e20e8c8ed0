import Experimentation
import Synchronization

/// Deletes the ids of past days: once a day, and in portions, so that no transaction takes long.
final class Forgetting: Sendable {
    private let seen: SeenEvents
    /// The last day on which everything was deleted; `nil` before the first time in this process.
    private let last = Mutex<Int?>(nil)

    /// How many days back earlier runs may have left ids.
    private static let longestAgo = 400

    init(_ seen: SeenEvents) { self.seen = seen }

    /// Deletes what is older than yesterday, unless that was done today; called periodically.
    ///
    /// - Throws: `ErrorCode.store`, and `ErrorCode.cancelled` when the task is; the next call continues.
    func look() async throws(ExperimentationError) {
        let today = seen.today
        let last = last.withLock { $0 }
        guard last != today else { return }
        let first = last.map { max($0 - 1, today - Self.longestAgo) } ?? today - Self.longestAgo
        for day in first..<max(first, today - 1) { try await seen.forget(day: day) }
        self.last.withLock { $0 = today }
    }
}

extension SeenEvents {
    /// How many ids are deleted in one transaction, roughly.
    private static let portion = 5_000
    /// The digits of a digest that choose the sample by which the ids of a day are counted.
    private static let sample = "000"
    /// How many samples there are.
    private static let samples = 4_096

    /// Deletes the ids of a day.
    ///
    /// - Throws: `ErrorCode.store`, and `ErrorCode.cancelled` between two portions.
    fileprivate func forget(day: Int) async throws(ExperimentationError) {
        // Digests are spread evenly, so a few tell how many there are without a list of all.
        let found = try await state.keys(beginningWith: key(Self.sample, day: day)).count
        // A removal has a file rewritten, so nothing isn't removed.
        if found == 0, try await state.keys(beginningWith: key("", day: day)).isEmpty { return }
        var digits = 0
        while digits < Self.sample.count, found * (Self.samples >> (4 * digits)) > Self.portion { digits += 1 }
        let portions = 1 << (4 * digits)
        for number in 0..<portions {
            if Task.isCancelled { throw ExperimentationError(.cancelled, "The ids of past days are deleted later.") }
            // The digits of the number, with zeros in front.
            let beginning = String(String(number + portions, radix: 16).dropFirst())
            try await state.removeAll(beginningWith: key(beginning, day: day))
        }
    }
}
