import Synchronization

/// The kill switch of one of several vendors, kept over restarts.
package final class KeptSwitch: Sendable {
    private let isThrown: Atomic<Bool>
    private let record: Mutex<SwitchRecord>
    /// Why the last write failed that did.
    private let failure = Mutex<ExperimentationError?>(nil)
    private let state: any StateStore
    private let key: String
    private let time: any TimeSource
    private let turn = AsyncSemaphore(limit: 1)

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
        record = Mutex(SwitchRecord(stored: stored))
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
            record.withLock { $0.begin() }
            do throws(ExperimentationError) { try await state.setValue(isOn ? [1] : nil, for: key) } catch {
                failure.withLock { $0 = error }
                record.withLock { $0.end(isOn, hasFailed: true, at: time.instant) }
                throw error
            }
            record.withLock { $0.end(isOn, hasFailed: false, at: time.instant) }
        }
    }

    /// Whether the store has this state.
    ///
    /// - Throws: Why it couldn't be written a moment ago.
    private func isStored(_ isOn: Bool) throws(ExperimentationError) -> Bool {
        let standing = record.withLock { $0.standing(of: isOn, at: time.instant) }
        if standing == .failed, let failure = failure.withLock({ $0 }) { throw failure }
        return standing == .stored
    }
}
