import Foundation

/// Writes down the outcome of a batch while the next one is sent, at most one batch behind.
///
/// If the process dies, the vendor may have two batches of which the store knows nothing: the one being written down
/// and the one under way. What a failing store couldn't write down is kept and written by the next round, so that it
/// isn't sent again.
actor SettlementWriter {
    private struct Batch {
        var settlements: [Settlement]
        var token: LeaseToken
        /// When the answer came, by the clock of its round.
        var date: Date
    }

    private let store: any OutboxStore
    /// The write under way.
    private var writing: Task<Void, Never>?
    /// What the store couldn't write down.
    private var unwritten: [Batch] = []
    private var failure: ExperimentationError?
    /// Whether the lease was current at the last write.
    private var isCurrent = true

    init(store: any OutboxStore) { self.store = store }

    /// Starts writing settlements as soon as the previous ones are written.
    ///
    /// - Parameters:
    ///   - settlements: What became of events.
    ///   - token: The lease under which they were sent.
    ///   - date: When the answer came, by the clock from which their waits are counted.
    /// - Throws: Why the previous ones couldn't be written; these are kept with them.
    func put(
        _ settlements: [Settlement],
        under token: LeaseToken,
        at date: Date
    ) async throws(ExperimentationError) {
        if settlements.isEmpty { return }
        let batch = Batch(settlements: settlements, token: token, date: date)
        await writing?.value
        if let failure {
            unwritten.append(batch)
            throw failure
        }
        writing = Task { await self.write(batch) }
    }

    /// Waits until everything is written down.
    ///
    /// - Returns: Whether the lease was current then.
    /// - Throws: Why something couldn't be written down.
    @discardableResult
    func finish() async throws(ExperimentationError) -> Bool {
        await writing?.value
        if let failure { throw failure }
        return isCurrent
    }

    /// Begins a round: writes down what an earlier one couldn't.
    func begin() async throws(ExperimentationError) {
        await writing?.value
        while let batch = unwritten.first {
            _ = try await store.settle(batch.settlements, under: batch.token, now: batch.date)
            unwritten.removeFirst()
        }
        failure = nil
        isCurrent = true
    }

    private func write(_ batch: Batch) async {
        do throws(ExperimentationError) {
            isCurrent = try await store.settle(batch.settlements, under: batch.token, now: batch.date)
        } catch {
            unwritten.append(batch)
            failure = error
        }
    }
}
