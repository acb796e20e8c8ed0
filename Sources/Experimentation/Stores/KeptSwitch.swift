import Synchronization

/// The kill switch of one of several vendors, kept over restarts.
package final class KeptSwitch: Sendable {
    private let isThrown: Atomic<Bool>
    /// What the store has; `nil` if that isn't known because it has failed.
    private let stored: Mutex<Bool?>
    private let state: any StateStore
    private let key: String
    private let turn = AsyncSemaphore(limit: 1)

    /// Creates a switch in the state of the earlier run; off if that can't be read.
    ///
    /// - Parameters:
    ///   - state: The vendor's own state.
    ///   - key: Where in it the switch is kept.
    package init(in state: any StateStore, as key: String) async {
        let known: Bool?
        do throws(ExperimentationError) { known = try await state.value(for: key) != nil } catch { known = nil }
        self.state = state
        self.key = key
        isThrown = Atomic(known ?? false)
        stored = Mutex(known)
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
    /// - Throws: What the store throws; the next call tries again.
    package func store() async throws(ExperimentationError) {
        if isStored { return }
        try await turn.run { [self] () async throws(ExperimentationError) in
            // The current state, so that after concurrent changes the last one is stored.
            let isOn = isOn
            if isStored { return }
            stored.withLock { $0 = nil }
            try await state.setValue(isOn ? [1] : nil, for: key)
            stored.withLock { $0 = isOn }
        }
    }

    private var isStored: Bool { stored.withLock { $0 } == isOn }
}
