import Experimentation
import Foundation

/// Keeps what is known of visitors, in the vendor's own records; an application may bring its own.
public protocol FlagshipVisitorCache: Sendable {
    /// Keeps a visitor's record, JSON as ``FlagshipVisitorRecord`` has it.
    func cacheVisitor(_ visitorID: String, _ record: Data) async
    /// The record of a visitor, or `nil`. What comes later than the time-out allows is as good as nothing.
    func lookupVisitor(_ visitorID: String) async -> Data?
    /// Forgets a visitor, who has withdrawn consent.
    func flushVisitor(_ visitorID: String) async
}

/// Keeps hits that haven't been sent, in the vendor's own records; an application may bring its own.
public protocol FlagshipHitCache: Sendable {
    /// Keeps hits, by their ids.
    func cacheHits(_ hits: [String: FlagshipHitRecord]) async
    /// All hits that are kept, by their ids. What comes later than the time-out allows is as good as nothing.
    func lookupHits() async -> [String: FlagshipHitRecord]
    /// Forgets hits.
    func flushHits(_ ids: [String]) async
    /// Forgets all hits.
    func flushAllHits() async
}

/// The caches of an application, and how long a look-up in them may take.
public struct FlagshipCaches: Sendable {
    /// Where visitors are kept; the client's store if `nil`.
    public var visitors: (any FlagshipVisitorCache)?
    /// Where hits are kept beside the outbox; nowhere if `nil`, since the outbox keeps them.
    public var hits: (any FlagshipHitCache)?
    /// How long looking up a visitor may take.
    public var visitorLookupTimeout: Duration
    /// How long looking up hits may take.
    public var hitLookupTimeout: Duration

    /// Creates caches.
    public init(
        visitors: (any FlagshipVisitorCache)? = nil,
        hits: (any FlagshipHitCache)? = nil,
        visitorLookupTimeout: Duration = .milliseconds(200),
        hitLookupTimeout: Duration = .milliseconds(200)
    ) {
        self.visitors = visitors
        self.hits = hits
        self.visitorLookupTimeout = visitorLookupTimeout
        self.hitLookupTimeout = hitLookupTimeout
    }
}

/// The default: visitors' records in the client's store, under digests of their ids.
struct FlagshipStateCache: FlagshipVisitorCache {
    let state: any StateStore
    let scope: String

    private func key(_ visitorID: String) -> String {
        // The store's keys must not identify a user; two hashes of 32 bits over different beginnings keep apart
        // what one would not, and the record names its visitor besides.
        let one = FlagshipMurmur3.hash("\(scope)/a/\(visitorID)")
        let two = FlagshipMurmur3.hash("\(scope)/b/\(visitorID)")
        // The slash keeps one visitor's key from being the beginning of another's: forgetting goes by beginnings.
        return "flagship/visitor/\(String(one, radix: 36))-\(String(two, radix: 36))/"
    }

    func cacheVisitor(_ visitorID: String, _ record: Data) async {
        try? await state.setValue([UInt8](record), for: key(visitorID))
    }

    func lookupVisitor(_ visitorID: String) async -> Data? {
        guard let bytes = try? await state.value(for: key(visitorID)) else { return nil }
        return Data(bytes)
    }

    func flushVisitor(_ visitorID: String) async {
        try? await state.removeAll(beginningWith: key(visitorID))
    }
}

/// Waits for an answer, but not longer than is allowed; a late one changes nothing.
enum FlagshipLookup {
    static func value<Value: Sendable>(
        within limit: Duration,
        _ time: any TimeSource,
        _ look: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let race = AsyncRace<Value?>()
        let clock = Task {
            try? await time.sleep(for: limit)
            race.finish(with: nil)
        }
        Task {
            race.finish(with: await look())
            clock.cancel()
        }
        // In a task of its own, because a visitor who is built by a cancelled one keeps the variations of earlier runs.
        return await Task { await race.winner() ?? nil }.value
    }
}
