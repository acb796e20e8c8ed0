import Experimentation
import Synchronization

/// The stores whose ledgers have been measured; keeps none of them alive.
final class MeasuredStores: Sendable {
    private struct Entry {
        let store = MeasuredStore()
        /// The measured objects: a file that two clients open has two.
        var objects: [Opened] = []

        var exists: Bool { objects.contains { $0.object != nil } }
    }

    private struct Opened {
        weak var object: (any AnyObject & Sendable)?
    }

    private let entries = Mutex<[LedgersOwner.Key: Entry]>([:])

    /// Finds a store, or adds it.
    ///
    /// An object that was measured with other contents has taken those along.
    func store(of owner: LedgersOwner) -> MeasuredStore {
        entries.withLock { entries in
            // An address may be another object's by now, but contents are the same when they are opened again.
            entries = entries.filter { key, entry in
                if case .contents = key { true } else { entry.exists }
            }
            let left = entries.filter { $0 != owner.key && $1.objects.contains { $0.object === owner.object } }
            var entry = entries[owner.key] ?? Entry()
            for (key, old) in left {
                entry.store.take(old.store)
                entries[key] = nil
            }
            entry.objects.removeAll { $0.object == nil || $0.object === owner.object }
            entry.objects.append(Opened(object: owner.object))
            entries[owner.key] = entry
            return entry.store
        }
    }

    /// The stores that exist now.
    ///
    /// To be asked when a store is measured: when the backend takes the measurement, the store may be gone.
    var existing: [MeasuredStore] { entries.withLock { $0.values.filter(\.exists).map(\.store) } }
}

/// A store whose ledgers are measured.
final class MeasuredStore: Sendable {
    /// Lets one measurement at a time read the ledgers and queue them: were an older ledger recorded after a newer one, the
    /// difference would be counted again.
    let turns = AsyncSemaphore(limit: 1)
    private let state = Mutex(State())

    private struct State {
        var last: [Destination: Ledger] = [:]
        /// Figure by figure the highest ledgers.
        var counted: [Destination: Ledger] = [:]
        /// Stores whose ledgers are part of these, and are yet to be added to what was counted.
        var taken: [MeasuredStore] = []

        mutating func addTaken() {
            for store in taken { counted.merge(store.state.withLock { $0.counted }, uniquingKeysWith: +) }
            taken = []
        }
    }

    /// The ledgers last recorded.
    var ledgers: [Destination: Ledger] { state.withLock { $0.last } }

    /// Replaces the ledgers.
    ///
    /// A ledger grows only by what exceeds all that was counted: it may shrink when a database loses its latest
    /// commits or an earlier copy is restored, and one that is read from a deleted file is of no use.
    ///
    /// - Parameters:
    ///   - ledgers: The ledgers.
    ///   - isFirst: Whether those that weren't counted before are only the baseline for later growth.
    /// - Returns: What each destination's ledger has grown by, also for destinations that are no longer named; nothing
    ///   in it is negative, and `pending` is zero.
    func replace(_ ledgers: [Destination: Ledger], isFirst: Bool) -> [Destination: Ledger] {
        state.withLock { state in
            state.addTaken()
            var growth = state.last.mapValues { _ in Ledger() }
            for (destination, ledger) in ledgers {
                let counted = state.counted[destination] ?? (isFirst ? ledger : Ledger())
                let grown = ledger.excess(over: counted)
                growth[destination] = grown
                state.counted[destination] = counted + grown
            }
            state.last = ledgers
            return growth
        }
    }

    /// From the next ledgers on, counts another store's as part of this one's: some of them may still be queued.
    func take(_ other: MeasuredStore) { state.withLock { $0.taken.append(other) } }
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
