import Synchronization

/// What the event store and further attempts need to know about events that aren't delivered yet.
///
/// These are the events' current states and the plug-ins' results, of which the oldest are dropped first.
final class CompletedEvents: Sendable {
    private struct State {
        /// The events of deliveries in progress.
        var current: [String: EngageEventState] = [:]
        var known: [String: AugmentationRun.Outcome] = [:]
        var order: [String] = []
        /// How many events had to be sent without some plug-in's additions.
        var expired = 0
    }

    private let state = Mutex(State())
    private let limit = 2_000

    /// The additions to an event.
    subscript(id: String) -> [String: String]? { state.withLock { $0.known[id]?.event.changed } }

    /// How many events plug-ins are working on, and how many were ever sent without some plug-in's additions.
    var counts: (underWay: Int, expired: Int) {
        state.withLock { state in (state.current.values.count { $0 == .hold }, state.expired) }
    }

    /// The state of a waiting event.
    func state(of id: String) -> EngageEventState {
        state.withLock { state in
            state.current[id] ?? (state.known[id]?.isExpired == true ? .expired : .notPosted)
        }
    }

    /// Notes the state of events in a delivery; `nil` at its end.
    func mark(_ ids: [String], as current: EngageEventState?) {
        state.withLock { state in
            for id in ids { state.current[id] = current }
        }
    }

    /// Keeps the plug-ins' results for an event.
    func keep(_ outcome: AugmentationRun.Outcome, of id: String) {
        state.withLock { state in
            if outcome.isExpired { state.expired += 1 }
            if state.known.updateValue(outcome, forKey: id) == nil { state.order.append(id) }
            while state.known.count > limit, !state.order.isEmpty { state.known[state.order.removeFirst()] = nil }
        }
    }

    /// Removes the events of a user who has withdrawn consent.
    func forget(of userID: String) {
        forget(state.withLock { $0.known.filter { $0.value.event.userID == userID }.map(\.key) })
    }

    func forget(_ ids: [String]) {
        guard !ids.isEmpty else { return }
        let gone = Set(ids)
        state.withLock { state in
            for id in ids { state.known[id] = nil }
            state.order.removeAll(where: gone.contains)
        }
    }
}
