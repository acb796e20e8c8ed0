import Experimentation
import Synchronization

/// Holds the function that hands parcels over, which is set after the outbox is opened.
final class Carrying: Sendable {
    typealias Carrier = @Sendable ([Parcel?]) async -> [Verdict]

    /// See ``DatabaseSight`` for why the closure isn't held by itself.
    private struct Hands: Sendable {
        let carrier: Carrier
    }

    private let hands = Mutex<Hands?>(nil)

    func begin(_ carrier: @escaping Carrier) { hands.withLock { $0 = Hands(carrier: carrier) } }

    /// Hands parcels over; an outage if no function is set yet or the database is away.
    func carry(_ parcels: [Parcel?], ifNot isAway: () -> Bool, counting waiting: Waiting) async -> [Verdict] {
        guard !isAway(), let carrier = hands.withLock({ $0 })?.carrier else {
            return Array(repeating: .outage(), count: parcels.count)
        }
        let verdicts = await carrier(parcels)
        waiting.add(-verdicts.count { $0.isFinal })
        return verdicts
    }
}

extension Verdict {
    fileprivate var isFinal: Bool {
        switch self {
        case .delivered, .rejected: true
        default: false
        }
    }
}

/// The number of waiting parcels, counted without reading the file.
final class Waiting: Sendable {
    private struct State {
        var count = 0
        var additions = 0
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.count } }
    var isAny: Bool { count > 0 }
    /// The number of additions so far; equal at two moments if nothing was added in between.
    var additions: Int { state.withLock { $0.additions } }

    func add(_ change: Int) {
        state.withLock { state in
            state.count = max(0, state.count + change)
            if change > 0 { state.additions += 1 }
        }
    }

    /// Sets the count that the file reported, unless something has been added since.
    func set(_ count: Int, unlessAddedSince additions: Int? = nil) {
        state.withLock { state in
            if additions.map({ $0 == state.additions }) ?? true { state.count = count }
        }
    }
}

/// A bounded set of the newest members; when it is full, the older half is dropped.
final class BoundedSet<Member: Hashable & Sendable>: Sendable {
    private let limit: Int
    private let state = Mutex((young: Set<Member>(), old: Set<Member>()))

    init(limit: Int) { self.limit = limit }

    /// Inserts a member.
    ///
    /// - Returns: Whether it is new.
    func insert(_ member: Member) -> Bool {
        state.withLock { state in
            guard !state.young.contains(member), !state.old.contains(member) else { return false }
            if state.young.count >= limit / 2 { state = ([], state.young) }
            state.young.insert(member)
            return true
        }
    }
}
