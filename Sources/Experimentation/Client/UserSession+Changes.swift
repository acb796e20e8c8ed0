import Synchronization

/// A change in what a session reads.
public struct DecisionChange: Sendable, Equatable {
    /// The flags that read differently now, including new and removed ones.
    ///
    /// If two keys are equal by the rules of Unicode, the set holds only one of them, but `contains` finds both.
    public var flags: Set<String>
    /// Whether there are decisions, and how good they are.
    public var status: ProviderStatus

    /// Creates a change, for comparisons.
    public init(flags: Set<String>, status: ProviderStatus) {
        self.flags = flags
        self.status = status
    }
}

extension UserSession {
    /// The changes in what this session reads, from now on.
    ///
    /// A change is announced when flags read differently or the status changes: after a refresh, a failed answer, a
    /// login, an override, the vendor's kill switch, and when decisions expire (``Freshness/lifetime``). Every change
    /// is announced, even one that the next reverses. The sequence ends with the client, or when its consumer stops
    /// iterating.
    ///
    /// ```swift
    /// for await change in session.changes where change.flags.contains("theme") { apply(session.string("theme", default: "light")) }
    /// ```
    public var changes: AsyncStream<DecisionChange> {
        let changes = changeListeners.stream()
        // Checked after the stream was added, in case the client ended the other streams meanwhile.
        if core.status.isFinished { changeListeners.finish() }
        snapshots.read { watchExpiry(of: $0) }
        return changes
    }

    /// Ends all streams of changes.
    func endChanges() {
        changeListeners.finish()
        expiryAlarm.withLock { $0 }?.set(to: nil) {}
    }

    /// Announces a change explicitly.
    func announceChange(of flags: Set<String>) {
        snapshots.read { changeListeners.add(DecisionChange(flags: flags, status: status(of: $0))) }
        changeListeners.tell()
    }

    /// Announces that every flag reads differently, as when the vendor's kill switch turns on or off.
    func announceChangeOfAll() { announceChange(of: Set(snapshots.current.decisions.keys)) }

    /// Replaces the snapshot, unless `change` returns `nil`, and announces what reads differently.
    @discardableResult
    func update(_ change: (Snapshot) -> Snapshot?) -> Bool {
        let isReplaced = snapshots.update(change) { old, new in
            // Checked after the update: a listener that was added during it may have read the former values.
            guard !changeListeners.isEmpty else { return }
            watchExpiry(of: new)
            var flags = old.readable.keysThatDiffer(from: new.readable)
            // Listeners may not know yet that these have expired.
            if old.isGone { flags.formUnion(old.decisions.keys) }
            let status = status(of: new)
            if !flags.isEmpty || status != self.status(of: old) {
                changeListeners.add(DecisionChange(flags: flags, status: status))
            }
        }
        changeListeners.tell()
        return isReplaced
    }

    // MARK: Expiry

    /// Sets the alarm for the moment at which decisions expire; called before they can be replaced.
    private func watchExpiry(of snapshot: Snapshot) {
        let isAhead = !changeListeners.isEmpty && !snapshot.isOverdue
        let moment = isAhead ? snapshot.expiry?.nextLook : nil
        let alarm = expiryAlarm.withLock { alarm in
            if alarm == nil, moment != nil { alarm = Alarm(by: core.environment.time) }
            return alarm
        }
        alarm?.set(to: moment) { [weak self] in self?.announceExpiry() }
    }

    private func announceExpiry() {
        snapshots.read { snapshot in
            guard snapshot.isOverdue else { return watchExpiry(of: snapshot) }
            // Nothing reads differently while the kill switch is on, or if they were stale before.
            guard !core.isDisabled, snapshot.isGone || snapshot.origin != .stale else { return }
            let flags = snapshot.isGone ? Set(snapshot.decisions.keys) : []
            changeListeners.add(DecisionChange(flags: flags, status: status(of: snapshot)))
        }
        changeListeners.tell()
    }
}

extension Decisions {
    /// Returns the keys of flags whose values differ, or that only one of the two has.
    func keysThatDiffer(from other: Decisions) -> Set<String> {
        // Compare lists: of two keys that are equal by the rules of Unicode, a set would hold only one.
        Set(keys.filter { self[$0]?.value != other[$0]?.value } + other.keys.filter { self[$0] == nil })
    }
}
