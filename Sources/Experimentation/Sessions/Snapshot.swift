import Foundation
import Synchronization

/// What a session reads: the decisions for one user at one time.
///
/// It is replaced as a whole and never changed, except for the marks of exposures that need not be recorded again.
final class Snapshot: Sendable {
    /// Where the decisions come from.
    enum Origin: Sendable {
        /// Just received from the vendor, or computed from its rules.
        case fresh
        /// From an earlier run.
        case restored
        /// From the vendor, but a later answer was invalid.
        case stale
    }

    let decisions: Decisions
    let context: ContextBox
    let origin: Origin
    /// When the decisions were made, on both clocks.
    let date: Date
    let instant: ContinuousClock.Instant
    /// When they expire, and what happens then.
    let expiry: Expiry?
    let afterExpiry: Freshness.AfterExpiry
    let revision: UInt64
    /// The number of the session's question that it answers; 0 if it answers none.
    let question: UInt64
    let marks: AtomicBitSet
    /// Whether the age is irrelevant until the expiry, if there is one.
    private let isPlainUntilExpiry: Bool

    init(
        decisions: Decisions,
        context: ContextBox,
        origin: Origin,
        date: Date,
        instant: ContinuousClock.Instant,
        expiry: Expiry? = nil,
        afterExpiry: Freshness.AfterExpiry = .stale,
        revision: UInt64,
        question: UInt64 = 0
    ) {
        self.decisions = decisions
        self.context = context
        self.origin = origin
        self.date = date
        self.instant = instant
        self.expiry = expiry
        self.afterExpiry = afterExpiry
        self.revision = revision
        self.question = question
        if case .fresh = origin { isPlainUntilExpiry = revision > 0 } else { isPlainUntilExpiry = false }
        marks = AtomicBitSet(count: decisions.catalogue.assignments.count)
    }

    /// Returns the same decisions with another origin.
    func with(origin: Origin) -> Snapshot {
        Snapshot(
            decisions: decisions,
            context: context,
            origin: origin,
            date: date,
            instant: instant,
            expiry: expiry,
            afterExpiry: afterExpiry,
            revision: revision,
            question: question
        )
    }

    /// Whether the answer to a question may replace it: not one for a former user, nor one to an earlier question.
    func yields(to question: UInt64, at revision: UInt64) -> Bool {
        (self.revision, self.question) <= (revision, question)
    }

    /// Whether the age is irrelevant: true for nearly every read, and quick to check.
    @inline(__always)
    var isPlain: Bool { isPlainUntilExpiry && !isOverdue }

    /// Whether the decisions have expired.
    @inline(__always)
    var isOverdue: Bool { expiry?.hasPassed ?? false }

    /// The decisions that reads use now: none if they have expired and aren't used any longer.
    var readable: Decisions { isGone ? .none : decisions }

    /// Whether the decisions have expired and aren't used any longer.
    var isGone: Bool { afterExpiry == .notReady && isOverdue }
}

/// A context on the heap, passed to hooks without copying its contents.
final class ContextBox: Sendable {
    let context: EvaluationContext
    init(_ context: EvaluationContext) { self.context = context }
}

/// A fixed number of bits that threads set and read without locks.
final class AtomicBitSet: Sendable {
    // Allocated in the initializer, freed in the deinitializer; in between accessed only through its atomics.
    private nonisolated(unsafe) let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let wordCount: Int

    init(count: Int) {
        wordCount = (max(count, 0) + 63) / 64
        words = .allocate(capacity: max(wordCount, 1))
        for index in 0..<wordCount { (words + index).initialize(to: Atomic(0)) }
    }

    deinit {
        words.deinitialize(count: wordCount)
        words.deallocate()
    }

    /// Whether a bit is set; `false` for one out of range.
    func contains(_ bit: Int) -> Bool {
        guard bit >= 0, bit >> 6 < wordCount else { return false }
        return words[bit >> 6].load(ordering: .relaxed) & (1 << UInt64(bit & 63)) != 0
    }

    /// Sets a bit.
    func insert(_ bit: Int) {
        guard bit >= 0, bit >> 6 < wordCount else { return }
        words[bit >> 6].bitwiseOr(1 << UInt64(bit & 63), ordering: .relaxed)
    }
}
