import Synchronization

/// Whether the vendor's kill switch is on: seen by the next evaluation, kept over restarts, announced once.
final class KillSwitch: Sendable {
    private let isThrown = Atomic<Bool>(false)
    private let throwing = Atomic<Int>(0)
    private let kept: KeptState
    private let status: StatusBoard
    private let outbox: Outbox
    private let changed: @Sendable () -> Void
    /// The task that stores the last change, after all earlier ones.
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Creates a switch that is off.
    ///
    /// - Parameters:
    ///   - kept: Where it is stored.
    ///   - status: Where it is announced.
    ///   - outbox: What it stops.
    ///   - changed: Called after each announced change.
    init(kept: KeptState, status: StatusBoard, outbox: Outbox, changed: @escaping @Sendable () -> Void) {
        self.kept = kept
        self.status = status
        self.outbox = outbox
        self.changed = changed
    }

    /// Whether the kill switch is on.
    var isOn: Bool { isThrown.load(ordering: .relaxed) }

    /// How often the vendor has turned it on in this run.
    var throwings: Int { throwing.load(ordering: .acquiring) }

    /// Restores the state of an earlier run.
    func restore() async {
        guard await kept.read(Bool.self, .killSwitch) == true else { return }
        isThrown.store(true, ordering: .relaxed)
        status.announce(.disabled, .disabled)
        await outbox.set(.disabled, true)
    }

    /// Sets the switch as the vendor reports it; once this returns, it is stored for the next run.
    ///
    /// - Parameters:
    ///   - isOn: What the vendor reports.
    ///   - count: ``throwings`` as the vendor was asked: a late answer to that doesn't turn off what was turned on since.
    func set(_ isOn: Bool, asOf count: Int? = nil) async {
        let task = last.withLock { last -> Task<Void, Never>? in
            // Under the lock, so that changes are carried out in the order in which they are seen.
            if !isOn, let count, count != throwings { return last }
            guard isThrown.exchange(isOn, ordering: .relaxed) != isOn else { return last }
            if isOn { throwing.wrappingAdd(1, ordering: .releasing) }
            let task = Task { [before = last] in
                await before?.value
                await self.carryOut(isOn)
            }
            last = task
            return task
        }
        await task?.value
    }

    /// Announces a status that the vendor's decisions have, unless the switch is on, which outweighs it.
    func announce(_ kind: ProviderEvent.Kind, _ status: ProviderStatus, error: ExperimentationError? = nil) {
        // Whoever turns it on meanwhile announces that afterwards.
        self.status.announce(kind, status, error: error, unless: { isOn })
    }

    /// Waits until every change so far is stored.
    func settle() async { await last.withLock { $0 }?.value }

    private func carryOut(_ isOn: Bool) async {
        await outbox.set(.disabled, isOn)
        await kept.write(isOn ? true : nil, .killSwitch)
        // Announced last, because a listener may end the process. The switch may have changed back meanwhile.
        guard self.isOn == isOn else { return }
        if isOn {
            status.announce(.disabled, .disabled)
        } else {
            status.announce(.ready, .ready)
        }
        changed()
    }
}
