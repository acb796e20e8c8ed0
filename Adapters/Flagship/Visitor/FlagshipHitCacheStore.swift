import Experimentation
import Foundation
import Synchronization

/// An outbox whose events are mirrored in an application's own cache.
///
/// The underlying outbox decides and counts; the cache holds the vendor's records of what still waits, so that the
/// application can keep them wherever it likes.
public struct FlagshipHitCacheStore: OutboxStoreDecorator {
    /// The underlying outbox.
    public let base: any OutboxStore
    private let cache: any FlagshipHitCache
    private let strategy: FlagshipOptions.Tracking.Strategy
    private let environmentID: String
    private let waiting = Waiting()
    /// Whether the cache may hold hits that weren't imported: of another environment, or of an earlier run, which only
    /// the next start may delete.
    private let mayHoldOthers: Bool

    /// The waiting events, with the ids of their records.
    private final class Waiting: Sendable {
        let envelopes = Mutex<[String: Envelope]>([:])
    }

    /// Creates an outbox, and imports hits that are in the cache but not in the underlying outbox.
    ///
    /// Returns `nil` if there is no cache of hits. Records older than four hours are deleted; the others are sent as if
    /// they were new, with their own times. Hits of another environment stay where they are. A cache that exceeds the
    /// time-out counts as empty, and its contents are left for the next start.
    ///
    /// - Parameters:
    ///   - store: The underlying outbox.
    ///   - caches: The cache, and how long a look-up may take.
    ///   - strategy: When the cache is written.
    ///   - environmentID: The environment.
    ///   - destination: The account that the hits are owed to.
    ///   - time: The clock.
    public init?(
        _ store: any OutboxStore,
        mirroredIn caches: FlagshipCaches,
        strategy: FlagshipOptions.Tracking.Strategy,
        environmentID: String,
        owedTo destination: Destination,
        time: any TimeSource
    ) async {
        guard let cache = caches.hits else { return nil }
        base = store
        self.cache = cache
        self.strategy = strategy
        self.environmentID = environmentID
        let records = await FlagshipLookup.value(within: caches.hitLookupTimeout, time) { await cache.lookupHits() }
        let known = await Self.waiting(in: store, for: destination)
        var taken: [Envelope]?
        if let records, let known {
            let own = records.filter { $1.belongs(to: environmentID) }
            taken = await Self.takeOver(own, of: cache, into: store, owedTo: destination, but: known, now: time.now)
            mayHoldOthers = taken == nil || own.count < records.count
        } else {
            mayHoldOthers = true
        }
        waiting.envelopes.withLock { waiting in
            waiting = known ?? [:]
            for envelope in taken ?? [] { waiting[envelope.id] = envelope }
        }
    }

    /// Returns the outbox's events by id; `nil` if it can't list them now.
    private static func waiting(in store: any OutboxStore, for destination: Destination) async -> [String: Envelope]? {
        var found: [String: Envelope] = [:]
        var sequence: Int64 = 0
        do throws(ExperimentationError) {
            while case let page = try await store.waiting(after: sequence, limit: 1_000), let last = page.last {
                for event in page where event.deliveries.contains(where: { $0.destination == destination }) {
                    found[event.envelope.id] = event.envelope
                }
                sequence = last.envelope.sequence
            }
        } catch {
            // A store that can't list its events isn't a file that outlived its process.
            return error.code == .unsupported ? [:] : nil
        }
        return found
    }

    /// Adds an earlier run's hits to the outbox, and deletes those that are too old or unreadable.
    ///
    /// - Returns: The imported hits; `nil` if the outbox didn't accept them.
    private static func takeOver(
        _ records: [String: FlagshipHitRecord],
        of cache: any FlagshipHitCache,
        into store: any OutboxStore,
        owedTo destination: Destination,
        but known: [String: Envelope],
        now: Date
    ) async -> [Envelope]? {
        let oldest = FlagshipHitRecord.oldest(at: now)
        let old = records.filter { $1.time <= oldest }.keys.sorted()
        if !old.isEmpty { await cache.flushHits(old) }
        let fresh = records.filter { id, record in record.time > oldest && known[FlagshipHitRecord.event(of: id)] == nil
        }
        .sorted { ($0.value.time, $0.key) < ($1.value.time, $1.key) }
        let envelopes = fresh.compactMap { id, record in record.envelope(id: id) }
        let readable = Set(envelopes.map(\.id))
        let unreadable = fresh.map(\.key).filter { !readable.contains($0) }
        if !unreadable.isEmpty { await cache.flushHits(unreadable) }
        guard !envelopes.isEmpty else { return [] }
        let refusals = try? await store.append(envelopes.map { NewEvent($0, to: destination) }, now: now)
        return refusals.map { accepted(envelopes, $0) }
    }

    private static func accepted(_ envelopes: [Envelope], _ refusals: [ExperimentationError?]) -> [Envelope] {
        zip(envelopes, refusals).filter { $1 == nil }.map(\.0)
    }

    /// Accepts events, and with the continuous strategy caches them.
    public func append(
        _ events: [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        let refusals = try await base.append(events, now: now)
        let accepted = Self.accepted(events.map(\.envelope), refusals)
        waiting.envelopes.withLock { waiting in
            for envelope in accepted { waiting[envelope.id] = envelope }
        }
        if strategy == .continuousCaching, !accepted.isEmpty { await cache.cacheHits(records(of: accepted)) }
        return refusals
    }

    /// Records the outcomes of events; settled ones are removed from the cache, or the remaining ones replace the cache.
    public func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        let isCurrent = try await base.settle(settlements, under: token, now: now)
        var (delivered, dropped): ([String], [String]) = ([], [])
        for settlement in settlements {
            switch settlement.outcome {
            case .delivered: delivered.append(settlement.id)
            case .dropped: dropped.append(settlement.id)
            case .retry: break
            }
        }
        // Whether the lease has passed to another holder, for whom they still wait, or was only disturbed.
        if !isCurrent, !dropped.isEmpty {
            let left = await Self.waiting(in: base, for: token.destination)
            dropped = left.map { left in dropped.filter { left[$0] == nil } } ?? []
        }
        await forget(delivered + dropped)
        return isCurrent
    }

    /// Carries out changes of consent, in the cache as well; consent signals stay.
    public func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        let outcome = try await base.setConsent(changes)
        let denying = Set(changes.filter { !$0.isGranted }.map { ExactText($0.userID) })
        if !denying.isEmpty {
            await forget { denying.contains(ExactText($0.identity.id)) && !$0.event.isConsentSignal }
        }
        return outcome
    }

    /// Drops deliveries older than a date.
    public func expire(
        before date: Date,
        owedTo destination: Destination,
        now: Date
    ) async throws(ExperimentationError) -> Int {
        let count = try await base.expire(before: date, owedTo: destination, now: now)
        await forget { $0.date < date }
        return count
    }

    /// Removes everything that is owed to a destination, from the cache as well.
    public func remove(
        owedTo destination: Destination,
        as account: RemovalAccount
    ) async throws(ExperimentationError) -> Int {
        let count = try await base.remove(owedTo: destination, as: account)
        await forget { account != .purged || !$0.event.isConsentSignal }
        return count
    }

    private func forget(_ isGone: (Envelope) -> Bool) async {
        await forget(waiting.envelopes.withLock { $0.values.filter(isGone).map(\.id) })
    }

    private func forget(_ ids: [String]) async {
        let (gone, left) = waiting.envelopes.withLock { waiting in
            (ids.compactMap { waiting.removeValue(forKey: $0) }, Array(waiting.values))
        }
        switch strategy {
        case .continuousCaching:
            await flush(gone)
        case .periodicCaching:
            if mayHoldOthers { await flush(gone) } else { await cache.flushAllHits() }
            if !left.isEmpty { await cache.cacheHits(records(of: left)) }
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
