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
        waiting.remove(verdicts.count { $0.isFinal })
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

/// The number and size of waiting parcels, counted without reading the file.
final class Waiting: Sendable {
    private struct State {
        var count = 0
        var bytes = 0
        var additions = 0
        var dropped = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// What a parcel takes beside its text, roughly.
    private static let overhead = 300

    /// Creates an account.
    ///
    /// - Parameter limit: How many bytes may wait.
    init(limit: Int = .max) { self.limit = limit }

    var count: Int { state.withLock { $0.count } }
    var isAny: Bool { count > 0 }
    /// The number of parcels for which there was no room.
    var dropped: Int { state.withLock { $0.dropped } }
    /// The number of additions so far; equal at two moments if nothing was added in between.
    var additions: Int { state.withLock { $0.additions } }

    /// Adds a parcel.
    ///
    /// - Parameter bytes: The size of its text.
    /// - Returns: Whether there is room for it; otherwise nothing is added.
    func add(bytes: Int) -> Bool {
        state.withLock { state in
            guard state.bytes + bytes + Self.overhead <= limit else { return false }
            state.count += 1
            state.bytes += bytes + Self.overhead
            state.additions += 1
            return true
        }
    }

    /// Takes parcels off, of average size.
    func remove(_ count: Int) {
        state.withLock { state in
            guard count > 0, state.count > 0 else { return }
            let left = max(0, state.count - count)
            state.bytes = Int(Double(state.bytes) * Double(left) / Double(state.count))
            state.count = left
        }
    }

    /// Notes a parcel for which there was no room.
    func drop() { state.withLock { $0.dropped += 1 } }

    /// Sets what the file reported, unless something has been added since.
    func set(_ status: OutboxStatus, unlessAddedSince additions: Int? = nil) {
        state.withLock { state in
            guard additions.map({ $0 == state.additions }) ?? true else { return }
            (state.count, state.bytes) = (status.deliverable, status.bytes)
        }
    }
}
