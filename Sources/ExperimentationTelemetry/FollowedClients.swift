import Experimentation
import Synchronization

/// The clients that were followed and still exist; keeps none of them alive.
final class FollowedClients: Sendable {
    private struct Entry {
        weak var client: ExperimentationClient?
        let baseline: Baseline
    }

    private let entries = Mutex<[Entry]>([])

    /// Adds a client, or finds it.
    ///
    /// - Returns: The client's baseline, the same one each time that the client is followed.
    func add(_ client: ExperimentationClient) -> Baseline {
        entries.withLock { entries in
            entries.removeAll { $0.client == nil }
            if let known = entries.first(where: { $0.client === client }) { return known.baseline }
            let entry = Entry(client: client, baseline: Baseline())
            entries.append(entry)
            return entry.baseline
        }
    }

    /// The clients with their baselines.
    var clients: [(ExperimentationClient, Baseline)] {
        entries.withLock { entries in
            entries.removeAll { $0.client == nil }
            return entries.compactMap { entry in entry.client.map { ($0, entry.baseline) } }
        }
    }
}

/// Whether a client's ledgers have been recorded, so that only what comes later is growth.
final class Baseline: Sendable {
    private let isTaken = Atomic(false)

    /// Returns whether this is the first call.
    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
