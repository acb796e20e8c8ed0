import Experimentation
import Foundation

/// A cache of visitors in the vendor's own record format; an application may supply its own.
///
/// Only the look-up has a time limit: a fetch and a change of consent wait until the other calls return.
public protocol FlagshipVisitorCache: Sendable {
    /// Stores a visitor's record, JSON in the format of ``FlagshipVisitorRecord``.
    func cacheVisitor(_ visitorID: String, _ record: Data) async
    /// Returns a visitor's record, or `nil`. At the time-out the call is cancelled, and a later answer is ignored.
    func lookupVisitor(_ visitorID: String) async -> Data?
    /// Deletes a visitor who has withdrawn consent.
    func flushVisitor(_ visitorID: String) async
}

/// A cache of unsent hits in the vendor's own record format; an application may supply its own.
///
/// Only the look-up has a time limit: hits of all visitors, and their delivery, wait until the other calls return,
/// because an accepted hit must be in the cache. Calls that write or delete are made one after another.
public protocol FlagshipHitCache: Sendable {
    /// Stores hits by their ids.
    func cacheHits(_ hits: [String: FlagshipHitRecord]) async
    /// Returns all stored hits by their ids. At the time-out the call is cancelled, and a later answer is ignored.
    func lookupHits() async -> [String: FlagshipHitRecord]
    /// Deletes hits.
    func flushHits(_ ids: [String]) async
    /// Deletes all hits.
    func flushAllHits() async
}

/// An application's caches, and how long a look-up in them may take.
public struct FlagshipCaches: Sendable {
    /// The cache of visitors; `nil` for the client's store.
    public var visitors: (any FlagshipVisitorCache)?
    /// The cache of hits in addition to the outbox; `nil` for none, since the outbox keeps the hits.
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

/// The default: visitors' records in the client's store, keyed by digests of their ids.
struct FlagshipStateCache: FlagshipVisitorCache {
    private let records: UserValues

    init(state: any StateStore, scope: String, time: any TimeSource) {
        records = UserValues(in: state, under: "flagship/visitor/", keeping: 10_000, time: time) { visitorID in
            // The slash keeps one visitor's key from being a prefix of another's: deletion goes by prefix.
            Self.names(of: visitorID, in: scope).map { $0 + "/" }
        }
    }

    /// The names under which a visitor's data is stored.
    ///
    /// They are the digest of the id, and the digest that the first releases used, which two visitors may share.
    static func names(of visitorID: String, in scope: String) -> [String] {
        [Digest.hex(scope, visitorID), FlagshipMurmur3.pair(of: visitorID, in: scope)]
    }

    func cacheVisitor(_ visitorID: String, _ record: Data) async {
        try? await records.set([UInt8](record), of: visitorID)
    }

    func lookupVisitor(_ visitorID: String) async -> Data? {
        await records.value(of: visitorID).map { Data($0) }
    }

    func flushVisitor(_ visitorID: String) async { try? await records.remove(of: visitorID) }
}
