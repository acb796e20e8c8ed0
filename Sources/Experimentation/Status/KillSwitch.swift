import Synchronization

/// Whether the vendor's kill switch is on: seen by the next evaluation, kept across restarts, announced once.
final class KillSwitch: Sendable {
    private let isThrown = Atomic<Bool>(false)
    private let throwing = Atomic<Int>(0)
    private let kept: KeptState
    private let status: StatusBoard
    private let outbox: Outbox
    private let time: any TimeSource
    private let changed: @Sendable () -> Void
    private let record = Mutex(SwitchRecord())
    /// The task that stores the last change, after all earlier ones.
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Creates a switch that is off.
    ///
    /// - Parameters:
    ///   - kept: Where it is stored.
    ///   - status: Where it is announced.
    ///   - outbox: What it stops.
    ///   - time: The client's clock.
    ///   - changed: Called after each announced change.
    init(
        kept: KeptState,
        status: StatusBoard,
        outbox: Outbox,
        time: any TimeSource,
        changed: @escaping @Sendable () -> Void
    ) {
        self.kept = kept
        self.status = status
        self.outbox = outbox
        self.time = time
        self.changed = changed
    }

    /// Whether the kill switch is on.
    var isOn: Bool { isThrown.load(ordering: .relaxed) }

    /// How often the vendor has turned it on in this run.
    var throwings: Int { throwing.load(ordering: .acquiring) }

    /// Restores the state of an earlier run.
    ///
    /// - Parameter patience: How long to try while it can't be read; after that the switch counts as off.
    func restore(_ patience: ReadingPatience) async {
        var stored = false
        // If it can't be read, whatever the vendor reports is written.
        do { stored = try await kept.find(Bool.self, .killSwitch, patience) ?? false } catch { return }
        record.withLock { $0 = SwitchRecord(stored: stored) }
        guard stored else { return }
        isThrown.store(true, ordering: .relaxed)
        status.announce(.disabled, .disabled)
        outbox.set(.disabled, true)
    }

    /// Sets the switch as the vendor reports it; once this returns, it is stored for the next run.
    ///
    /// If storing fails, the vendor's next report that comes two seconds later or more stores it.
    ///
    /// - Parameters:
    ///   - isOn: What the vendor reports.
    ///   - count: ``throwings`` when the vendor was asked: a late answer doesn't turn off what was turned on since.
    func set(_ isOn: Bool, asOf count: Int? = nil) async {
        let task = last.withLock { last -> Task<Void, Never>? in
            // Under the lock, so that changes are carried out in the order in which they are seen.
            if !isOn, let count, count != throwings { return last }
            let isChange = isThrown.exchange(isOn, ordering: .relaxed) != isOn
            guard isChange || standing(of: isOn) == .due else { return last }
            if isChange, isOn { throwing.wrappingAdd(1, ordering: .releasing) }
            let task = Task { [before = last] in
                await before?.value
                if isChange { await self.carryOut(isOn) } else { await self.store() }
            }
            last = task
            return task
        }
        await task?.value
    }

    /// Announces the status of the vendor's decisions, unless the switch is on, which takes precedence.
    func announce(_ kind: ProviderEvent.Kind, _ status: ProviderStatus, error: ExperimentationError? = nil) {
        // A caller that turns the switch on meanwhile announces that afterwards.
        self.status.announce(kind, status, error: error, unless: { isOn })
    }

    /// Waits until every change so far is stored.
    func settle() async { await last.withLock { $0 }?.value }

    private func carryOut(_ isOn: Bool) async {
        outbox.set(.disabled, isOn)
        await store()
        // Announced last, because a listener may end the process. The switch may have changed back meanwhile.
        guard self.isOn == isOn else { return }
        if isOn {
            status.announce(.disabled, .disabled)
        } else {
            status.announce(.ready, .ready)
        }
        changed()
    }

    private func standing(of isOn: Bool) -> SwitchRecord.Standing {
        record.withLock { $0.standing(of: isOn, at: time.instant) }
    }

    /// Stores the current state, so that after several changes the last one is stored.
    private func store() async {
        let isOn = isOn
        if standing(of: isOn) != .due { return }
        record.withLock { $0.begin() }
        let isWritten = await kept.write(isOn ? true : nil, .killSwitch)
        record.withLock { $0.end(isOn, hasFailed: !isWritten, at: time.instant) }
    }
}
