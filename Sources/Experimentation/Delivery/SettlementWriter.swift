import Foundation

/// Writes down the outcome of a batch while the next one is sent.
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
    /// What isn't written down yet, the oldest first.
    private var unwritten: [Batch] = []

    init(store: any OutboxStore) { self.store = store }

    /// Keeps settlements until ``write()``.
    ///
    /// - Parameters:
    ///   - settlements: What became of events.
    ///   - token: The lease under which they were sent.
    ///   - date: When the answer came, by the clock from which their waits are counted.
    func add(_ settlements: [Settlement], under token: LeaseToken, at date: Date) {
        if settlements.isEmpty { return }
        unwritten.append(Batch(settlements: settlements, token: token, date: date))
    }

    /// Writes down everything added so far; one caller at a time.
    ///
    /// - Throws: Why something couldn't be written down; it is kept, with all that follows it.
    func write() async throws(ExperimentationError) {
        while let batch = unwritten.first {
            _ = try await store.settle(batch.settlements, under: batch.token, now: batch.date)
            unwritten.removeFirst()
        }
    }
}
