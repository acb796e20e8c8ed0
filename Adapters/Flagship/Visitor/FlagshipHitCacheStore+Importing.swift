import Experimentation
import Foundation

/// The hits of an earlier run that only the application's cache has.
extension FlagshipHitCacheStore {
    /// Adds an earlier run's hits to the outbox, oldest first, unless it has them.
    ///
    /// Deletes those that are too old or unreadable, and those of visitors who deny consent: the process ended before their
    /// denial reached the cache, and a later consent isn't about them.
    ///
    /// - Returns: The imported hits; `nil` if the outbox didn't accept them.
    static func takeOver(
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
        // A record that was imported by itself is an event of its own, whatever its id looks like.
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
