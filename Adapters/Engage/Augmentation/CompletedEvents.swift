import Synchronization

/// The plug-ins' results for events that aren't delivered yet; the oldest are dropped first.
final class CompletedEvents: Sendable {
    /// The additions to an event, and its user.
    private struct Said {
        var userID: String
        var attributes: [String: String]
    }

    private struct State {
        var known: [String: Said] = [:]
        var order: [String] = []
        var underWay: Set<String> = []
        var posting: Set<String> = []
        /// Those of the known events that had to be sent without some plug-in.
        var incomplete: Set<String> = []
        var expired = 0
    }

    private let state = Mutex(State())
    private let limit = 2_000

    subscript(id: String) -> [String: String]? { state.withLock { $0.known[id]?.attributes } }

    /// How many events plug-ins are working on, and how many were ever sent without some plug-in.
    var counts: (underWay: Int, expired: Int) { state.withLock { ($0.underWay.count, $0.expired) } }

    /// The state of a waiting event.
    func state(of id: String) -> EngageEventState {
        state.withLock { state in
            if state.underWay.contains(id) { return .hold }
            if state.posting.contains(id) { return .processing }
            return state.incomplete.contains(id) ? .expired : .notPosted
        }
    }

    func begin(posting ids: [String]) { state.withLock { $0.posting.formUnion(ids) } }
    func end(posting ids: [String]) { state.withLock { $0.posting.subtract(ids) } }

    func begin(_ id: String) { state.withLock { _ = $0.underWay.insert(id) } }
    func abandon(_ id: String) { state.withLock { _ = $0.underWay.remove(id) } }

    func finish(_ id: String, _ outcome: AugmentationRun.Outcome) {
        state.withLock { state in
            state.underWay.remove(id)
            if outcome.isExpired {
                state.expired += 1
                state.incomplete.insert(id)
            }
            let said = Said(userID: outcome.event.userID, attributes: outcome.event.changed)
            if state.known.updateValue(said, forKey: id) == nil { state.order.append(id) }
            while state.known.count > limit, !state.order.isEmpty {
                let oldest = state.order.removeFirst()
                state.known[oldest] = nil
                state.incomplete.remove(oldest)
            }
        }
    }

    /// Removes the events of a user who has withdrawn consent.
    func forget(of userID: String) {
        forget(state.withLock { $0.known.filter { $0.value.userID == userID }.map(\.key) })
    }

    func forget(_ ids: [String]) {
        guard !ids.isEmpty else { return }
        let gone = Set(ids)
        state.withLock { state in
            for id in ids { state.known[id] = nil }
            state.incomplete.subtract(gone)
            state.order.removeAll(where: gone.contains)
        }
    }
}
