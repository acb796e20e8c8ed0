import Experimentation
import Synchronization

/// Holds the function that hands parcels over; it is set after the outbox is opened.
final class Carrying: Sendable {
    typealias Carrier = @Sendable ([Parcel?]) async -> [Verdict]

    /// Wraps the closure in a struct, for the reason given in ``DatabaseSight``.
    private struct Hands: Sendable {
        let carrier: Carrier
    }

    private let hands = Mutex<Hands?>(nil)

    func begin(_ carrier: @escaping Carrier) { hands.withLock { $0 = Hands(carrier: carrier) } }

    /// Releases the function, which in turn retains the file: otherwise neither would ever be released.
    func end() {
        // The function's captures are released outside the lock.
        _ = hands.withLock { hands in
            defer { hands = nil }
            return hands
        }
    }

    /// Hands parcels over; reports an outage if no function is set yet, or if the database is away.
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
        var changes = 0
        var underWay = 0
        var dropped = 0

        /// Whether a report that was requested from the file after so many changes is still reliable.
        func isStill(since changes: Int) -> Bool { underWay == 0 && self.changes == changes }

        mutating func remove(_ number: Int) {
            guard number > 0, count > 0 else { return }
            let left = max(0, count - number)
            bytes = Int(Double(bytes) * Double(left) / Double(count))
            count = left
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    /// The approximate size of a parcel besides its text.
    private static let overhead = 300

    /// Creates an account.
    ///
    /// - Parameter limit: How many bytes may wait.
    init(limit: Int = .max) { self.limit = limit }

    var count: Int { state.withLock { $0.count } }
    var isAny: Bool { count > 0 }
    /// The number of parcels that couldn't be taken.
    var dropped: Int { state.withLock { $0.dropped } }
    /// The number of additions that have begun or ended so far.
    var changes: Int { state.withLock { $0.changes } }

    /// Begins adding a parcel, which counts from now on.
    ///
    /// - Parameter bytes: The size of its text.
    /// - Returns: Whether there is room for the parcel; otherwise nothing is added.
    func begin(bytes: Int) -> Bool {
        state.withLock { state in
            guard state.bytes + bytes + Self.overhead <= limit else { return false }
            state.count += 1
            state.bytes += bytes + Self.overhead
            state.changes += 1
            state.underWay += 1
            return true
        }
    }

    /// Ends the addition of a parcel.
    ///
    /// - Parameter isOut: Whether the parcel certainly isn't in the file. A parcel that may be there counts, so that
    ///   later ones don't overtake it.
    func end(isOut: Bool) {
        state.withLock { state in
            state.changes += 1
            state.underWay -= 1
            if isOut { state.remove(1) }
        }
    }

    /// Subtracts parcels of average size.
    func remove(_ count: Int) { state.withLock { $0.remove(count) } }

    /// Counts a parcel that couldn't be taken.
    func drop() { state.withLock { $0.dropped += 1 } }

    /// Applies the file's report, unless an addition has been under way at any time since it was requested.
    ///
    /// - Parameters:
    ///   - status: What the file reported.
    ///   - changes: ``changes`` before the report was requested.
    func set(_ status: OutboxStatus, unlessChangedSince changes: Int) {
        state.withLock { state in
            guard state.isStill(since: changes) else { return }
            (state.count, state.bytes) = (status.deliverable, status.bytes)
        }
    }
}
