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
    func store(of owner: LedgersOwner) -> MeasuredStore {
        entries.withLock { entries in
            // An address may be another object's by now, but contents are the same when they are opened again.
            entries = entries.filter { key, entry in
                if case .contents = key { true } else { entry.exists }
            }
            var entry = entries[owner.key] ?? Entry()
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
    private let last = Mutex<[Destination: Ledger]>([:])

    /// The ledgers last recorded.
    var ledgers: [Destination: Ledger] { last.withLock { $0 } }

    /// Replaces ledgers; returns the previous ones.
    func replace(_ ledgers: [Destination: Ledger]) -> [Destination: Ledger] {
        last.withLock { last in
            defer { last.merge(ledgers) { $1 } }
            return last
        }
    }
}
