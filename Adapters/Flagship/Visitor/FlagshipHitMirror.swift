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
    }

    private let cache: any FlagshipHitCache
    private let strategy: FlagshipOptions.Tracking.Strategy
    private let environmentID: String
    /// Whether the cache may hold hits that weren't imported: of another environment, or of an earlier run, which only
    /// the next start may delete.
    private let mayHoldOthers: Bool
    private let state: Mutex<State>
    private let turn = AsyncSemaphore(limit: 1)

    init(
        _ cache: any FlagshipHitCache,
        strategy: FlagshipOptions.Tracking.Strategy,
        environmentID: String,
        mayHoldOthers: Bool,
        holding waiting: [Envelope]
    ) {
        self.cache = cache
        self.strategy = strategy
        self.environmentID = environmentID
        self.mayHoldOthers = mayHoldOthers
        let entries = waiting.map { ($0.id, Entry(envelope: $0, isAccepted: true)) }
        state = Mutex(State(entries: Dictionary(entries) { $1 }, isChanged: !waiting.isEmpty))
    }

    /// The events that the outbox has accepted and that aren't known to be gone.
    var waiting: [Envelope] { state.withLock { $0.entries.values.filter(\.isAccepted).map(\.envelope) } }

    /// The number of events.
    var count: Int { state.withLock { $0.entries.count } }

    // MARK: Arrivals

    /// Adds events that the outbox is about to get: they may be gone before it says that it has accepted them.
    func expect(_ events: [Envelope]) {
        state.withLock { state in for event in events { state.entries[event.id] = Entry(envelope: event) } }
    }

    /// Removes expected events that the outbox refused.
    func dismiss(_ events: [Envelope]) {
        state.withLock { state in for event in events { state.entries[event.id] = nil } }
    }

    /// Confirms expected events, and with the continuous strategy caches those that still wait.
    func accept(_ events: [Envelope]) async {
        guard !events.isEmpty else { return }
        state.withLock { state in
            state.isChanged = true
            for event in events { state.entries[event.id]?.isAccepted = true }
        }
        guard strategy == .continuousCaching else { return }
        await turn.run {
            let left = self.state.withLock { state in events.filter { state.entries[$0.id] != nil } }
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

    /// Deletes visitors' hits that only the cache has, because they weren't imported.
    func removeUnimported(of denying: Set<ExactText>, foundBy lookUp: @escaping LookUp) async {
        await turn.run {
            let found = await lookUp() ?? [:]
            let gone = found.filter { id, record in
                guard record.belongs(to: self.environmentID), let hit = record.envelope(id: id) else { return false }
                return denying.contains(ExactText(hit.identity.id)) && !hit.event.isConsentSignal
            }
            if !gone.isEmpty { await self.cache.flushHits(gone.keys.sorted()) }
        }
    }

    /// Writes what has changed: what is gone, or with the periodic strategy all that waits.
    func write() async {
        await turn.run {
            let (left, gone, isChanged) = self.state.withLock { state in
                defer { (state.gone, state.isChanged) = ([], false) }
                return (state.entries.values.filter(\.isAccepted).map(\.envelope), state.gone, state.isChanged)
            }
            switch self.strategy {
            case .continuousCaching: await self.flush(gone)
            case .periodicCaching:
                guard isChanged else { return }
                if self.mayHoldOthers { await self.flush(gone) } else { await self.cache.flushAllHits() }
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
