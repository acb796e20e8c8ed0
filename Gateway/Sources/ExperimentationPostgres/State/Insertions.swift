import Experimentation
import Synchronization

/// Puts values under absent keys, several in one transaction.
///
/// A commit waits for the disk, however much it contains. Values that arrive while transactions are under way are put
/// together in the next one; a value that arrives alone doesn't wait.
final class Insertions: Sendable {
    private typealias Outcome = Result<StateUpdate, ExperimentationError>

    private struct Insertion: Sendable {
        var key: [UInt8]
        var value: [UInt8]
        var done: @Sendable (Outcome) -> Void
    }

    private struct State {
        var waiting: [Insertion] = []
        var running = 0
    }

    private let pool: ConnectionPool
    private let state = Mutex(State())

    /// How many transactions may be under way, so that connections remain for other operations.
    private static let mostAtOnce = 2
    /// How many values one transaction puts at most.
    private static let most = 200

    init(_ pool: ConnectionPool) { self.pool = pool }

    /// Puts a value, unless the key is there.
    ///
    /// - Returns: Whether the value was put, or the value that is there.
    /// - Throws: `ErrorCode.store`.
    func put(_ value: [UInt8], for key: String) async throws(ExperimentationError) -> StateUpdate {
        while true {
            let outcome: Outcome = await withCheckedContinuation { continuation in
                let insertion = Insertion(key: Array(key.utf8), value: value) { continuation.resume(returning: $0) }
                let begins = state.withLock { state in
                    state.waiting.append(insertion)
                    guard state.running < Self.mostAtOnce else { return false }
                    state.running += 1
                    return true
                }
                if begins { Task { await self.run() } }
            }
            let update = try outcome.get()
            // A conflict without a value means that the key has been removed since.
            if update != .conflict(nil) { return update }
        }
    }

    private func run() async {
        while let batch = next() { await carryOut(batch) }
    }

    /// The values for the next transaction, each key once; `nil` if there are none, so that one fewer transaction runs.
    private func next() -> [Insertion]? {
        state.withLock { state in
            var keys: Set<[UInt8]> = []
            var batch: [Insertion] = []
            var left: [Insertion] = []
            for insertion in state.waiting {
                if batch.count < Self.most, keys.insert(insertion.key).inserted {
                    batch.append(insertion)
                } else {
                    left.append(insertion)
                }
            }
            state.waiting = left
            if batch.isEmpty { state.running -= 1 }
            return batch.isEmpty ? nil : batch
        }
    }

    private func carryOut(_ batch: [Insertion]) async {
        let (keys, values) = (batch.map(\.key), batch.map(\.value))
        do throws(ExperimentationError) {
            let (put, found) = try await pool.transaction { transaction throws(ConnectionFailure) in
                // In the order of keys, so that two machines that put the same keys don't wait for each other.
                let answers = try transaction.ask(
                    Statement(
                        """
                        INSERT INTO state (key, value)
                        SELECT key, value FROM unnest($1::bytea[], $2::bytea[]) AS new (key, value) ORDER BY key
                        ON CONFLICT (key) DO NOTHING RETURNING key
                        """,
                        .blobs(keys),
                        .blobs(values)
                    ),
                    // A separate statement, which sees the conflicting values.
                    Statement("SELECT key, value FROM state WHERE key = ANY($1)", .blobs(keys))
                )
                let put = Set(answers[0].map { $0.bytes(0) })
                return (put, Dictionary(answers[1].map { ($0.bytes(0), $0.bytes(1)) }, uniquingKeysWith: { $1 }))
            }
            for insertion in batch {
                insertion.done(.success(put.contains(insertion.key) ? .updated : .conflict(found[insertion.key])))
            }
        } catch {
            for insertion in batch { insertion.done(.failure(error)) }
        }
    }
}
