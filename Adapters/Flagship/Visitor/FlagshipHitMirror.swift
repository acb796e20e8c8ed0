import Experimentation
import Synchronization

/// An application's cache of hits, which follows what waits in an outbox.
///
/// Its calls are made one at a time, and each writes what waits at that moment: a list made earlier would bring back
/// hits that are gone by then.
final class FlagshipHitMirror: Sendable {
    /// Returns the cached hits; `nil` if that takes too long.
    typealias LookUp = @Sendable () async -> [String: FlagshipHitRecord]?

    private struct Entry {
        var envelope: Envelope
        /// Whether the outbox has it.
        var isAccepted = false
    }

    private struct State {
        /// What waits, by the ids of the events.
        var entries: [String: Entry] = [:]
        /// What the cache holds although it no longer waits, and whether anything has changed since the cache was written.
        var gone: [Envelope] = []
        var isChanged = false
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
        let entries = waiting.map { ($0.id, Entry(envelope: $0, isAccepted: true)) }
        state = Mutex(State(entries: Dictionary(entries) { $1 }, isChanged: !waiting.isEmpty, dropped: dropped))
    }

    /// The events that the outbox has accepted and that aren't known to be gone.
    var waiting: [Envelope] { state.withLock { $0.waiting } }

    // MARK: Arrivals

    /// Adds events that the outbox is about to get: they may be gone before it says that it has accepted them.
    func expect(_ events: [Envelope]) {
        state.withLock { state in for event in events { state.entries[event.id] = Entry(envelope: event) } }
    }

    /// Confirms those of expected events that the outbox accepted, removes the others, and with the continuous strategy
    /// caches what still waits.
    func accept(_ accepted: Set<String>, of events: [Envelope]) async {
        let kept = events.filter { accepted.contains($0.id) }
        state.withLock { state in
            for event in events where !accepted.contains(event.id) { state.entries[event.id] = nil }
            for event in kept { state.entries[event.id]?.isAccepted = true }
            if !kept.isEmpty { state.isChanged = true }
        }
        guard strategy == .continuousCaching, !kept.isEmpty else { return }
        await turn.run {
            let left = self.state.withLock { state in kept.filter { state.entries[$0.id] != nil } }
            if !left.isEmpty { await self.cache.cacheHits(self.records(of: left)) }
        }
    }

    // MARK: Departures

    /// Removes events that no longer wait, by their ids.
    func remove(_ ids: [String]) async {
        let gone = state.withLock { state in
            let gone = ids.compactMap { state.entries.removeValue(forKey: $0)?.envelope }
            state.gone += gone
            if !gone.isEmpty { state.isChanged = true }
            return gone
        }
        if !gone.isEmpty { await write() }
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

    /// Whether it is time to look for events that the outbox has dropped.
    ///
    /// - Parameters:
    ///   - count: The number of events that it has dropped so far.
    ///   - isExact: Whether one is reason enough; otherwise a look is worth its while for each 64th of the events.
    /// - Returns: Whether it is.
    func mayHold(dropped count: Int, isExact: Bool) -> Bool {
        state.withLock { count - $0.dropped > (isExact ? 0 : $0.entries.count / 64) }
    }

    /// Removes events that the outbox has dropped.
    func remove(_ ids: [String], dropped count: Int) async {
        state.withLock { $0.dropped = max($0.dropped, count) }
        await remove(ids)
    }

    /// Writes what has changed: what is gone, or with the periodic strategy all that waits.
    func write() async {
        await turn.run {
            let (left, gone, isChanged) = self.state.withLock { state in
                defer { (state.gone, state.isChanged) = ([], false) }
                return (state.waiting, state.gone, state.isChanged)
            }
            switch self.strategy {
            case .continuousCaching: await self.flush(gone)
            case .periodicCaching:
                guard isChanged else { return }
                if self.lookUpOthers != nil { await self.flush(gone) } else { await self.cache.flushAllHits() }
                if !left.isEmpty { await self.cache.cacheHits(self.records(of: left)) }
            }
        }
    }

    private func flush(_ gone: [Envelope]) async {
        guard !gone.isEmpty else { return }
        await cache.flushHits(records(of: gone).keys.sorted())
    }

    private func records(of envelopes: [Envelope]) -> [String: FlagshipHitRecord] {
        envelopes.reduce(into: [:]) { records, envelope in
            let own = FlagshipHitRecord.records(of: envelope, environmentID: environmentID)
            records.merge(own) { $1 }
        }
    }
}
