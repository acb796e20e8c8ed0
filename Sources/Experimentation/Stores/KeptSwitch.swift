import Synchronization

/// The kill switch of one of several vendors, kept over restarts.
package final class KeptSwitch: Sendable {
    private struct Record {
        /// What the store has; `nil` if that isn't known.
        var stored: Bool?
        /// The last write, if it failed.
        var failure: (isOn: Bool, instant: ContinuousClock.Instant, error: ExperimentationError)?
    }

    private let isThrown: Atomic<Bool>
    private let record: Mutex<Record>
    private let state: any StateStore
    private let key: String
    private let time: any TimeSource
    private let turn = AsyncSemaphore(limit: 1)
    /// How long a write that failed isn't repeated; a vendor's answers come faster than a store recovers.
    private static let patience = Duration.seconds(2)

    /// Creates a switch in the state of the earlier run; off if that can't be read.
    ///
    /// - Parameters:
    ///   - state: The vendor's own state.
    ///   - key: Where in it the switch is kept.
    ///   - time: The client's clock.
    package init(in state: any StateStore, as key: String, time: any TimeSource) async {
        var stored: Bool?
        do throws(ExperimentationError) { stored = try await state.value(for: key) != nil } catch {
            // What the vendor says is written then, whatever it is.
            stored = nil
        }
        self.state = state
        self.key = key
        self.time = time
        isThrown = Atomic(stored ?? false)
        record = Mutex(Record(stored: stored))
    }

    /// Whether the vendor is disabled.
    package var isOn: Bool { isThrown.load(ordering: .relaxed) }

    /// Sets the switch for this run; ``store()`` keeps it for the next one.
    ///
    /// - Returns: Whether that is a change.
    package func flip(to isOn: Bool) -> Bool { isThrown.exchange(isOn, ordering: .relaxed) != isOn }

    /// Stores the switch unless the store has it; once this returns, the next run begins with it.
    ///
    /// A cancelled caller doesn't end it: nobody might call again.
    ///
    /// - Throws: What the store throws; for two seconds, the next calls throw it as well, and after that one tries again.
    package func store() async throws(ExperimentationError) {
        if try isStored(isOn) { return }
        try await turn.run { [self] () async throws(ExperimentationError) in
            // The current state, so that after concurrent changes the last one is stored.
            let isOn = isOn
            if try isStored(isOn) { return }
            record.withLock { $0 = Record() }
            do throws(ExperimentationError) { try await state.setValue(isOn ? [1] : nil, for: key) } catch {
                record.withLock { $0.failure = (isOn, time.instant, error) }
                throw error
            }
            record.withLock { $0.stored = isOn }
        }
    }

    /// Whether the store has this state.
    ///
    /// - Throws: Why it couldn't be written a moment ago.
    private func isStored(_ isOn: Bool) throws(ExperimentationError) -> Bool {
        let (stored, failure) = record.withLock { ($0.stored, $0.failure) }
        if let failure, failure.isOn == isOn, failure.instant.duration(to: time.instant) < Self.patience {
            throw failure.error
        }
        return stored == isOn
    }
}
