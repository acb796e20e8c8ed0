import Experimentation
import Foundation

/// An outbox whose events are mirrored in an application's own cache.
///
/// The underlying outbox decides and counts; the cache holds the vendor's records of hits that still wait, so that the
/// application can keep them wherever it likes.
public struct FlagshipHitCacheStore: OutboxStoreDecorator {
    /// The underlying outbox.
    public let base: any OutboxStore
    private let mirror: FlagshipHitMirror
    private let destination: Destination
    /// Acceptances and denials reach the cache in the order in which the outbox has carried them out.
    private let turn = AsyncSemaphore(limit: 1)

    /// Creates an outbox, and imports hits that are in the cache but not in the underlying outbox.
    ///
    /// Returns `nil` if there is no cache of hits. Records older than four hours are deleted; the others are sent as if
    /// they were new, with their own times. Hits of another environment stay in the cache. A cache that exceeds the
    /// time-out counts as empty, and its contents are left for the next start, except hits of visitors who deny consent
    /// before then.
    ///
    /// - Parameters:
    ///   - store: The underlying outbox.
    ///   - caches: The cache, and how long a look-up may take.
    ///   - strategy: When the cache is written.
    ///   - environmentID: The environment.
    ///   - destination: The account that the hits are owed to.
    ///   - time: The clock.
    ///   - log: Where deleted records are reported.
    public init?(
        _ store: any OutboxStore,
        mirroredIn caches: FlagshipCaches,
        strategy: FlagshipOptions.Tracking.Strategy,
        environmentID: String,
        owedTo destination: Destination,
        time: any TimeSource,
        log: any LogSink = NoLog()
    ) async {
        guard let cache = caches.hits else { return nil }
        base = store
        self.destination = destination
        let (limit, dropped) = (caches.hitLookupTimeout, store.overflowed)
        let lookUp: FlagshipHitMirror.LookUp = {
            await time.value(within: limit) { await cache.lookupHits() }
        }
        let records = await lookUp()
        let own = records?.filter { $1.belongs(to: environmentID) }
        let known = await Self.waiting(in: store, for: destination)
        var taken: [Envelope]?
        if let own, let known {
            taken = await Self.takeOver(own, of: cache, but: known, into: store, owedTo: destination, time.now, log)
        }
        let mayHoldOthers = taken == nil || own?.count != records?.count
        mirror = FlagshipHitMirror(
            cache,
            strategy: strategy,
            environmentID: environmentID,
            lookUpOthers: mayHoldOthers ? lookUp : nil,
            holding: Array((known ?? [:]).values) + (taken ?? []),
            dropped: dropped
        )
    }

    /// Returns the outbox's events by id; `nil` if it can't list them now.
    private static func waiting(in store: any OutboxStore, for destination: Destination) async -> [String: Envelope]? {
        do throws(ExperimentationError) {
            return try await store.waiting(for: destination)
        } catch {
            // A store that can't list its events isn't a file, so it holds no events of an earlier process.
            return error.code == .unsupported ? [:] : nil
        }
    }

    /// Removes from the cache the events that the outbox dropped to make room.
    private func followDrops(isExact: Bool) async {
        await mirror.follow(dropped: base.overflowed, isExact: isExact) { try? await base.waiting(for: destination) }
    }
}

// MARK: - The hits of an earlier run

extension FlagshipHitCacheStore {
    /// Adds an earlier run's hits to the outbox, oldest first, unless it has them.
    ///
    /// Deletes hits that are too old or unreadable, and hits of visitors who deny consent: the process ended before the
    /// denial reached the cache, and a later consent doesn't cover these hits.
    ///
    /// - Returns: The imported hits; `nil` if the outbox didn't accept them.
    private static func takeOver(
        _ records: [String: FlagshipHitRecord],
        of cache: any FlagshipHitCache,
        but known: [String: Envelope],
        into store: any OutboxStore,
        owedTo destination: Destination,
        _ now: Date,
        _ log: any LogSink
    ) async -> [Envelope]? {
        func delete(_ ids: some Collection<String>, _ why: String) async {
            guard !ids.isEmpty else { return }
            log.log(.warning, .cache, "cached hits are deleted (\(ids.count)): \(why)")
            await cache.flushHits(ids.sorted())
        }
        let oldest = FlagshipHitRecord.oldest(at: now)
        let old = records.filter { $1.time <= oldest }
        // A record that was imported on its own is an event of its own, whatever its id looks like.
        let fresh = records.filter { id, _ in
            old[id] == nil && known[id] == nil && known[FlagshipHitRecord.event(of: id)] == nil
        }
        let envelopes = fresh.envelopes
        await delete(old.keys, "they are too old for the vendor")
        await delete(Set(fresh.keys).subtracting(envelopes.map(\.id)), "they aren't hits")
        guard !envelopes.isEmpty else { return [] }
        guard let refusals = try? await store.append(envelopes.map { NewEvent($0, to: destination) }, now: now) else {
            return nil
        }
        let denied = zip(envelopes, refusals).filter { $1?.code == .consentDenied }.map(\.0.id)
        if !denied.isEmpty { await cache.flushHits(denied.sorted()) }
        return zip(envelopes, refusals).filter { $1 == nil }.map(\.0)
    }
}

// MARK: - The outbox

extension FlagshipHitCacheStore {
    /// Accepts events, and with the continuous strategy caches them.
    public func append(
        _ events: [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        let own = events.filter { $0.deliveries.contains { $0.destination == destination } }.map(\.envelope)
        let refusals: [ExperimentationError?]
        do throws(ExperimentationError) {
            refusals = try await turn.run { [base, mirror] () async throws(ExperimentationError) in
                mirror.expect(own)
                return try await base.append(events, now: now)
            }
        } catch {
            await mirror.accept([], of: own)
            throw error
        }
        await mirror.accept(Set(zip(events, refusals).filter { $1 == nil }.map(\.0.envelope.id)), of: own)
        if mirror.strategy == .continuousCaching { await followDrops(isExact: false) }
        return refusals
    }

    /// Records the outcomes of events; settled ones are removed from the cache, or the remaining ones replace the
    /// cache.
    public func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        let isCurrent = try await base.settle(settlements, under: token, now: now)
        guard token.destination == destination else { return isCurrent }
        // Either another holder now has the lease, and the dropped events still wait for it, or the lease was only
        // disturbed.
        let left = isCurrent ? [:] : await Self.waiting(in: base, for: destination)
        let gone = settlements.filter { settlement in
            switch settlement.outcome {
            case .delivered: true
            case .dropped: left.map { $0[settlement.id] == nil } ?? false
            case .retry: false
            }
        }
        await mirror.remove(gone.map(\.id))
        return isCurrent
    }

    /// Releases a lane, and with the periodic strategy caches the events that then wait.
    public func release(_ token: LeaseToken, pause: DeliveryPause?, now: Date) async throws(ExperimentationError) {
        try await base.release(token, pause: pause, now: now)
        guard token.destination == destination, mirror.strategy == .periodicCaching else { return }
        await followDrops(isExact: true)
        await mirror.write()
    }

    /// Carries out changes of consent, in the cache as well; consent signals stay.
    public func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        try await turn.run { [base, mirror] () async throws(ExperimentationError) in
            let outcome = try await base.setConsent(changes)
            let denying = Set(changes.filter { !$0.isGranted }.map { ExactText($0.userID) })
            if !denying.isEmpty { await mirror.remove(of: denying) }
            return outcome
        }
    }

    /// Drops deliveries older than a date.
    public func expire(
        before date: Date,
        owedTo destination: Destination,
        now: Date
    ) async throws(ExperimentationError) -> Int {
        let count = try await base.expire(before: date, owedTo: destination, now: now)
        if count > 0, destination == self.destination { await mirror.remove { $0.date < date } }
        return count
    }

    /// Removes everything that is owed to a destination, from the cache as well.
    public func remove(
        owedTo destination: Destination,
        as account: RemovalAccount
    ) async throws(ExperimentationError) -> Int {
        let count = try await base.remove(owedTo: destination, as: account)
        if destination == self.destination {
            await mirror.remove { account != .purged || !$0.event.isConsentSignal }
        }
        return count
    }

    /// Brings the cache up to date, and waits until no trace of removed data is left.
    public func finishErasing() async throws(ExperimentationError) {
        await followDrops(isExact: true)
        try await base.finishErasing()
    }
}
