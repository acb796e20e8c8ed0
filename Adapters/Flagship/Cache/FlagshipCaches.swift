import Experimentation
import Foundation

/// A cache of visitors in the vendor's own record format; an application may supply its own.
///
/// Only the look-up has a time limit: a fetch and a change of consent wait until the other calls return.
public protocol FlagshipVisitorCache: Sendable {
    /// Stores a visitor's record, JSON in the format of ``FlagshipVisitorRecord``.
    func cacheVisitor(_ visitorID: String, _ record: Data) async
    /// Returns a visitor's record, or `nil`. At the time-out it is cancelled, and an answer after it is ignored.
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
    /// Returns all stored hits by their ids. At the time-out it is cancelled, and an answer after it is ignored.
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
    /// The cache of hits beside the outbox; `nil` for none, since the outbox keeps them.
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
    private static let prefix = "flagship/visitor/"

    private let state: any StateStore
    private let scope: String
    private let trimmer: StateTrimmer

    init(state: any StateStore, scope: String) {
        self.state = state
        self.scope = scope
        trimmer = StateTrimmer(state, of: Self.prefix, to: 10_000)
    }

    // The slash keeps one visitor's key from being a prefix of another's: deletion goes by prefix.
    private func key(_ visitorID: String) -> String { "\(Self.prefix)\(Digest.hex(scope, visitorID))/" }

    /// The key in the first releases; the record names its visitor, because two may have the same.
    private func earlierKey(_ visitorID: String) -> String {
        "\(Self.prefix)\(FlagshipMurmur3.pair(of: visitorID, in: scope))/"
    }

    func cacheVisitor(_ visitorID: String, _ record: Data) async {
        try? await state.setValue([UInt8](record), for: key(visitorID))
        await trimmer.trim()
    }

    func lookupVisitor(_ visitorID: String) async -> Data? {
        for key in [key(visitorID), earlierKey(visitorID)] {
            if let bytes = try? await state.value(for: key) { return Data(bytes) }
        }
        return nil
    }

    func flushVisitor(_ visitorID: String) async {
        try? await state.removeAll(beginningWith: [key(visitorID), earlierKey(visitorID)])
    }
}
