import Synchronization

/// The kill switch of one of several vendors, kept across restarts.
package final class KeptSwitch: Sendable {
    private struct Known {
        var record: SwitchRecord
        /// How often the vendor has reported in this run that its kill switch is on.
        var throwings = 0
        /// The error of the last write that failed.
        var failure: ExperimentationError?
    }

    private let isThrown: Atomic<Bool>
    private let known: Mutex<Known>
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
    ///   - patience: How long to try while it can't be read.
    package init(
        in state: any StateStore,
        as key: String,
        time: any TimeSource,
        patience: ReadingPatience
    ) async {
        var stored: Bool?
        do throws(ExperimentationError) {
            stored = try await patience.read { () async throws(ExperimentationError) in
                try await state.value(for: key) != nil
            }
        } catch {
            // Whatever the vendor reports is written then.
            stored = nil
        }
        self.state = state
        self.key = key
        self.time = time
        isThrown = Atomic(stored ?? false)
        known = Mutex(Known(record: SwitchRecord(stored: stored)))
    }

    /// Whether the vendor is disabled.
    package var isOn: Bool { isThrown.load(ordering: .relaxed) }

    /// How often the vendor has reported in this run that its kill switch is on.
    package var throwings: Int { known.withLock { $0.throwings } }

    /// Sets the switch for this run; ``store()`` keeps it for the next one.
    ///
    /// - Parameters:
    ///   - isOn: What the vendor reports.
    ///   - count: ``throwings`` when the vendor was asked: a late answer doesn't turn off what was turned on since.
    /// - Returns: Whether that is a change.
    package func flip(to isOn: Bool, asOf count: Int? = nil) -> Bool {
        known.withLock { known in
            if isOn { known.throwings += 1 } else if let count, count != known.throwings { return false }
            return isThrown.exchange(isOn, ordering: .relaxed) != isOn
        }
    }

    /// Stores the switch unless the store has it; once this returns, the next run begins with it.
    ///
    /// A cancelled caller doesn't stop the write: there may be no other call.
    ///
    /// - Throws: What the store throws; for two seconds, the next calls throw it as well, and after that a call tries
    ///   again.
    package func store() async throws(ExperimentationError) {
        if try isStored(isOn) { return }
        try await turn.run { [self] () async throws(ExperimentationError) in
            // Store the current state, so that after concurrent changes the last one is stored.
            let isOn = isOn
            if try isStored(isOn) { return }
            known.withLock { $0.record.begin() }
            do throws(ExperimentationError) { try await state.setValue(isOn ? [1] : nil, for: key) } catch {
                known.withLock { known in
                    known.failure = error
                    known.record.end(isOn, hasFailed: true, at: time.instant)
                }
                throw error
            }
            known.withLock { $0.record.end(isOn, hasFailed: false, at: time.instant) }
        }
    }

    /// Whether the store has this state.
    ///
    /// - Throws: Why it couldn't be written a moment ago.
    private func isStored(_ isOn: Bool) throws(ExperimentationError) -> Bool {
        let (standing, failure) = known.withLock { ($0.record.standing(of: isOn, at: time.instant), $0.failure) }
        if standing == .failed, let failure { throw failure }
        return standing == .stored
    }
}
