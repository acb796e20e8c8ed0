import Experimentation
import Synchronization

/// The stores whose ledgers are measured; keeps none of them alive.
final class MeasuredStores: Sendable {
    private struct Opened {
        weak var object: (any AnyObject & Sendable)?
        let measured = MeasuredObject()
    }

    private struct State {
        /// The stores by the id of their contents, which is the same when they are opened again.
        var stores: [String: MeasuredStore] = [:]
        var opened: [Opened] = []
    }

    private let state = Mutex(State())

    /// Finds an object and the store that its ledgers are in now, or adds them.
    func find(_ owner: LedgersOwner) -> (object: MeasuredObject, store: MeasuredStore) {
        state.withLock { state in
            state.opened.removeAll { $0.object == nil }
            let known = state.opened.first { $0.object === owner.object }
            let opened = known ?? Opened(object: owner.object)
            if known == nil { state.opened.append(opened) }
            guard case .contents(let id) = owner.key else { return (opened.measured, opened.measured.own) }
            let store = state.stores[id] ?? MeasuredStore()
            state.stores[id] = store
            return (opened.measured, store)
        }
    }

    /// The objects that exist now.
    ///
    /// Read this when a store is measured: when the backend takes the measurement, the store may be gone.
    var existing: [MeasuredObject] {
        state.withLock { $0.opened.filter { $0.object != nil }.map(\.measured) }
    }
}

/// An object whose ledgers are measured, such as a store; a file that two clients open has two.
final class MeasuredObject: Sendable {
    /// Its store, unless its contents tell which store it is.
    let own = MeasuredStore()
    private let last = Mutex<MeasuredStore?>(nil)

    /// The store in which its ledgers were last recorded.
    var store: MeasuredStore? { last.withLock { $0 } }

    /// Records that its ledgers are in a store; if they were in another one, this one has taken those along.
    ///
    /// Call this in the order in which the ledgers were read, and only if they were read: an object that can't be read
    /// may misname its contents.
    func move(to store: MeasuredStore) {
        let left = last.withLock { last in
            defer { last = store }
            return last
        }
        if let left, left !== store { store.take(left) }
    }
}

/// A store whose ledgers are measured.
final class MeasuredStore: Sendable {
    /// Lets one measurement at a time read the ledgers and queue them: if older ledgers were recorded after newer ones,
    /// the count of what waits would be outdated.
    let turns = AsyncSemaphore(limit: 1)
    private let state = Mutex(State())

    private struct State {
        var last: [Destination: Ledger] = [:]
        /// The highest ledgers, figure by figure.
        var counted: [Destination: Ledger] = [:]
        /// Whether its ledgers, or those it has taken, have been recorded: a destination that is new since then has
        /// grown from nothing.
        var isRecorded = false
    }

    /// The ledgers last recorded.
    var ledgers: [Destination: Ledger] { state.withLock { $0.last } }

    /// Replaces the ledgers.
    ///
    /// A ledger grows only by what exceeds all that was counted: it may shrink when a database loses its latest commits
    /// or an earlier copy is restored, and a ledger that is read from a deleted file is of no use.
    ///
    /// - Parameters:
    ///   - ledgers: The ledgers.
    ///   - isFirst: Whether these are only the baseline for later growth, unless some were recorded before.
    /// - Returns: How much each destination's ledger has grown, including destinations that are no longer named; no
    ///   figure is negative, and `pending` is zero.
    func replace(_ ledgers: [Destination: Ledger], isFirst: Bool) -> [Destination: Ledger] {
        state.withLock { state in
            let isBaseline = isFirst && !state.isRecorded
            state.isRecorded = true
            var growth = state.last.mapValues { _ in Ledger() }
            for (destination, ledger) in ledgers {
                let counted = state.counted[destination] ?? (isBaseline ? ledger : Ledger())
                let grown = ledger.excess(over: counted)
                growth[destination] = grown
                state.counted[destination] = counted + grown
            }
            state.last = ledgers
            return growth
        }
    }

    /// Counts another store's ledgers as part of this one's, and no longer as the other's.
    func take(_ other: MeasuredStore) {
        let taken = other.state.withLock { state in
            defer { state = State() }
            return state
        }
        state.withLock { state in
            state.counted.merge(taken.counted, uniquingKeysWith: +)
            state.isRecorded = state.isRecorded || taken.isRecorded
        }
    }
}

extension Ledger {
    /// The figures by which this ledger exceeds another, without what waits.
    fileprivate func excess(over other: Ledger) -> Ledger {
        Ledger(
            accepted: max(0, accepted - other.accepted),
            delivered: max(0, delivered - other.delivered),
            purged: max(0, purged - other.purged),
            dropped: dropped.reduce(into: [:]) { $0[$1.key] = max(0, $1.value - (other.dropped[$1.key] ?? 0)) }
        )
    }
}
