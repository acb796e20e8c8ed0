import Synchronization

/// Remembers the latest exposures recorded without a session, so that each is recorded only once for a while; bounded.
final class RecentExposures: Sendable {
    private struct State {
        var young: Set<ExposureKey> = []
        var old: Set<ExposureKey> = []
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = max(limit, 2) }

    /// Adds an exposure.
    ///
    /// - Returns: Whether it is new.
    func insert(_ key: ExposureKey) -> Bool {
        state.withLock { state in
            if state.young.contains(key) { return false }
            let isNew = !state.old.contains(key)
            state.young.insert(key)
            if state.young.count >= limit / 2 {
                // Two generations: what hasn't been seen for a whole generation is forgotten, at constant cost.
                state.old = state.young
                state.young = []
            }
            return isNew
        }
    }
}

/// What identifies an exposure, or a sight of a flag.
struct ExposureKey: Hashable, Sendable {
    var userID: ExactText
    var experiment: ExactText
    var group: ExactText
    var variation: ExactText
    /// The vendor that answered, where there are several: the side of a move, and the part of a composition.
    var answerer: String?
    var part: String?
    /// The flag through which the variation was seen; `nil` for the variation itself.
    var flag: ExactText?

    init(userID: String, assignment: Assignment, flag: String? = nil) {
        self.userID = ExactText(userID)
        experiment = ExactText(assignment.experiment.id)
        group = ExactText(assignment.group)
        variation = ExactText(assignment.variation.id)
        answerer = assignment.answerer
        part = assignment.part
        self.flag = flag.map { ExactText($0) }
    }
}
