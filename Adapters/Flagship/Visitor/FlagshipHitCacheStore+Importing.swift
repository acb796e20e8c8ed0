import Experimentation
import Foundation

/// The hits of an earlier run that only the application's cache has.
extension FlagshipHitCacheStore {
    /// Returns an earlier run's hits that the outbox doesn't have, oldest first, and deletes those that are too old or
    /// unreadable.
    static func usable(
        _ records: [String: FlagshipHitRecord],
        of cache: any FlagshipHitCache,
        but known: [String: Envelope],
        now: Date,
        _ log: any LogSink
    ) async -> [Envelope] {
        func delete(_ ids: [String], _ why: String) async {
            guard !ids.isEmpty else { return }
            log.log(.warning, .cache, "cached hits are deleted (\(ids.count)): \(why)")
            await cache.flushHits(ids.sorted())
        }
        let oldest = FlagshipHitRecord.oldest(at: now)
        await delete(records.filter { $1.time <= oldest }.map(\.key), "they are too old for the vendor")
        // A record that was imported by itself is an event of its own, whatever its id looks like.
        let fresh = records.filter { id, record in
            record.time > oldest && known[id] == nil && known[FlagshipHitRecord.event(of: id)] == nil
        }
        .sorted { ($0.value.time, $0.key) < ($1.value.time, $1.key) }
        let envelopes = fresh.compactMap { id, record in record.envelope(id: id) }
        let readable = Set(envelopes.map(\.id))
        await delete(fresh.map(\.key).filter { !readable.contains($0) }, "they aren't hits")
        return envelopes
    }

    /// Adds hits to the outbox, and deletes those of visitors who deny consent: the process ended before their denial
    /// reached the cache, and a later consent isn't about them.
    ///
    /// - Returns: The imported hits; `nil` if the outbox didn't accept them.
    static func takeOver(
        _ envelopes: [Envelope],
        of cache: any FlagshipHitCache,
        into store: any OutboxStore,
        owedTo destination: Destination,
        now: Date
    ) async -> [Envelope]? {
        guard !envelopes.isEmpty else { return [] }
        guard let refusals = try? await store.append(envelopes.map { NewEvent($0, to: destination) }, now: now) else {
            return nil
        }
        let denied = zip(envelopes, refusals).filter { $1?.code == .consentDenied }.map(\.0.id)
        if !denied.isEmpty { await cache.flushHits(denied.sorted()) }
        return accepted(envelopes, refusals)
    }
}
