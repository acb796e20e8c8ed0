import Experimentation
import Synchronization

/// Who hands parcels over; the outbox is opened before whoever does.
final class Carrying: Sendable {
    typealias Carrier = @Sendable ([Parcel?]) async -> [Verdict]

    private let carrier = Mutex<Carrier?>(nil)

    func begin(_ carrier: @escaping Carrier) { self.carrier.withLock { $0 = carrier } }

    /// Hands over, unless nobody does yet or the database is away.
    func carry(_ parcels: [Parcel?], ifNot isAway: () -> Bool, counting waiting: Waiting) async -> [Verdict] {
        guard !isAway(), let carrier = carrier.withLock({ $0 }) else {
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

/// How many parcels wait, as far as is known without asking the file.
final class Waiting: Sendable {
    private struct State {
        var count = 0
        var additions = 0
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.count } }
    var isAny: Bool { count > 0 }
    /// How often something was added, to tell whether anything was between two moments.
    var additions: Int { state.withLock { $0.additions } }

    func add(_ change: Int) {
        state.withLock { state in
            state.count = max(0, state.count + change)
            if change > 0 { state.additions += 1 }
        }
    }

    /// Sets what the file says, unless something was added since it was asked.
    func set(_ count: Int, unlessAddedSince additions: Int? = nil) {
        state.withLock { state in
            if additions.map({ $0 == state.additions }) ?? true { state.count = count }
        }
    }
}

/// A set of the newest members; when it is full, the older half goes.
final class BoundedSet<Member: Hashable & Sendable>: Sendable {
    private let limit: Int
    private let state = Mutex((young: Set<Member>(), old: Set<Member>()))

    init(limit: Int) { self.limit = limit }

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
