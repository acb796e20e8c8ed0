import Experimentation
import Synchronization

/// An application's cache of hits, which mirrors the events that wait in an outbox.
///
/// Calls to the cache are made one at a time, and each writes the events that wait at that moment: an earlier list
/// would bring back hits that are gone by then.
final class FlagshipHitMirror: Sendable {
    /// Returns the cached hits; `nil` if that takes too long.
    typealias LookUp = @Sendable () async -> [String: FlagshipHitRecord]?

    private struct State {
        /// The waiting events by their ids, and whether the outbox has accepted each.
        var entries: [String: (envelope: Envelope, isAccepted: Bool)] = [:]
        /// The changes since the cache was written: ids of events that it lacks, and events that it may still hold.
        var news: [String] = []
        var gone: [Envelope] = []
        /// How many events the outbox has dropped to make room, as far as the cache has been told.
        var dropped: Int

        var waiting: [Envelope] { entries.values.filter(\.isAccepted).map(\.envelope) }
    }

    private let cache: any FlagshipHitCache
    let strategy: FlagshipOptions.Tracking.Strategy
    private let environmentID: String
    /// Looks up the cache again, if it may hold hits that weren't imported: of another environment, or of an earlier
    /// run, which only the next start may delete.
    private let lookUpOthers: LookUp?
    private let state: Mutex<State>
    private let turn = AsyncSemaphore(limit: 1)

    init(
        _ cache: any FlagshipHitCache,
        strategy: FlagshipOptions.Tracking.Strategy,
        environmentID: String,
        lookUpOthers: LookUp?,
        holding waiting: [Envelope],
        dropped: Int
    ) {
        self.cache = cache
        self.strategy = strategy
        self.environmentID = environmentID
        self.lookUpOthers = lookUpOthers
        let entries = waiting.map { ($0.id, (envelope: $0, isAccepted: true)) }
        // With the continuous strategy, the cache has had these events since they were accepted.
        let news = strategy == .periodicCaching ? waiting.map(\.id) : []
        state = Mutex(State(entries: Dictionary(entries) { $1 }, news: news, dropped: dropped))
    }

    /// The events that the outbox has accepted and that aren't known to be gone.
    var waiting: [Envelope] { state.withLock { $0.waiting } }

    // MARK: Arrivals

    /// Adds events that the outbox is about to receive: they may be gone before it reports that it has accepted them.
    func expect(_ events: [Envelope]) {
        state.withLock { state in for event in events { state.entries[event.id] = (event, false) } }
    }

    /// Confirms the expected events that the outbox accepted, and removes the others.
    ///
    /// With the continuous strategy, it then caches those that still wait.
    func accept(_ accepted: Set<String>, of events: [Envelope]) async {
        let kept = events.map(\.id).filter(accepted.contains)
        state.withLock { state in
            for event in events where !accepted.contains(event.id) { state.entries[event.id] = nil }
            for id in kept { state.entries[id]?.isAccepted = true }
            state.news += kept
        }
        if strategy == .continuousCaching, !kept.isEmpty { await write() }
    }

    // MARK: Departures

    /// Removes events that no longer wait, by their ids.
    func remove(_ ids: [String]) async {
        let isNews = state.withLock { state in
            let gone = ids.compactMap { state.entries.removeValue(forKey: $0)?.envelope }
            state.gone += gone
            return !gone.isEmpty
        }
        if isNews { await write() }
    }

    /// Removes events that no longer wait.
    func remove(where isGone: (Envelope) -> Bool) async {
        await remove(state.withLock { $0.entries.values.map(\.envelope).filter(isGone).map(\.id) })
    }

    /// Removes visitors' events, also those that only the cache has; signals of consent stay.
    func remove(of denying: Set<ExactText>) async {
        let isGone = { @Sendable (event: Envelope) in
            denying.contains(ExactText(event.identity.id)) && !event.event.isConsentSignal
        }
        await remove(where: isGone)
        guard let lookUpOthers else { return }
        await turn.run {
            let found = await lookUpOthers() ?? [:]
            // A visitor who has consented again may have new hits.
            let waiting = self.state.withLock { $0.entries.keys }
            let gone = found.filter { id, record in
                record.belongs(to: self.environmentID) && record.envelope(id: id).map(isGone) == true
                    && !waiting.contains(FlagshipHitRecord.event(of: id)) && !waiting.contains(id)
            }
            if !gone.isEmpty { await self.cache.flushHits(gone.keys.sorted()) }
        }
    }

    /// Removes events that the outbox has dropped to make room.
    ///
    /// - Parameters:
    ///   - count: The number of events that it has dropped so far.
    ///   - isExact: Whether to look for even a single dropped event. Otherwise a few may stay, until they are a 64th of
    ///     all events, because finding them takes a list of all that wait.
    ///   - list: Lists the waiting events by id.
    func follow(dropped count: Int, isExact: Bool, in list: () async -> [String: Envelope]?) async {
        let before = state.withLock { state in
            count - state.dropped > (isExact ? 0 : state.entries.count / 64) ? state.waiting : nil
        }
        guard let before, let left = await list() else { return }
        state.withLock { $0.dropped = max($0.dropped, count) }
        await remove(before.map(\.id).filter { left[$0] == nil })
    }

    /// Writes the changes: new and removed events, or with the periodic strategy all that wait.
    func write() async {
        await turn.run {
            let (waiting, gone, isChanged) = self.state.withLock { state in
                defer { (state.news, state.gone) = ([], []) }
                let isChanged = !state.news.isEmpty || !state.gone.isEmpty
                guard self.strategy == .continuousCaching else { return (state.waiting, state.gone, isChanged) }
                return (state.news.compactMap { state.entries[$0]?.envelope }, state.gone, isChanged)
            }
            guard isChanged else { return }
            if self.strategy == .periodicCaching, self.lookUpOthers == nil {
                await self.cache.flushAllHits()
            } else if !gone.isEmpty {
                await self.cache.flushHits(self.records(of: gone).keys.sorted())
            }
            if !waiting.isEmpty { await self.cache.cacheHits(self.records(of: waiting)) }
        }
    }

    private func records(of envelopes: [Envelope]) -> [String: FlagshipHitRecord] {
        envelopes.reduce(into: [:]) { records, envelope in
            let own = FlagshipHitRecord.records(of: envelope, environmentID: environmentID)
            records.merge(own) { $1 }
        }
    }
}
