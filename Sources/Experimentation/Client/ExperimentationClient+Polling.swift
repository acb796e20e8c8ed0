import Synchronization

/// What a client does on its own: polls rules, asks about the kill switch, and listens to the provider's notices.
extension ExperimentationClient {
    func startPolling() {
        let (freshness, isComputed): (Freshness?, Bool) =
            switch core.roles.decisions {
            case .computed(let source): (source.freshness, true)
            case .asked(let source): (source.freshness, false)
            default: (nil, false)
            }
        guard let interval = freshness?.polling else { return }
        let task = Task { [weak core] in
            // No session exists yet; one that starts meanwhile would be refreshed twice.
            if isComputed { await core?.poll() }
            guard interval > .zero else { return }
            while !Task.isCancelled {
                guard let environment = core?.environment else { return }
                // Between nine and eleven tenths of the interval, so that clients that started together spread out.
                let wait = interval * (0.9 + 0.2 * environment.jitter())
                do { try await environment.time.sleep(for: wait) } catch { return }
                await core?.poll()
            }
        }
        polling.withLock { $0.append(task) }
    }

    func startAskingSwitch() {
        guard core.roles.remoteSwitch != nil else { return }
        let task = Task { [weak core] in
            while !Task.isCancelled {
                guard let time = core?.environment.time, let wait = await core?.askSwitch() else { return }
                do { try await time.sleep(for: wait) } catch { return }
            }
        }
        polling.withLock { $0.append(task) }
    }

    /// Listens to the provider's notices of changes.
    func startListening() {
        guard let notices = core.roles.changes?.notices() else { return }
        let task = Task { [weak core] in
            for await notice in notices { await core?.heed(notice) }
        }
        polling.withLock { $0.append(task) }
    }

    func stopPolling() {
        polling.withLock { for task in $0 { task.cancel() } }
        following.withLock { $0?.cancel() }
    }
}

extension ClientCore {
    /// Asks the vendor once whether its kill switch is on.
    ///
    /// - Returns: How long to wait before asking again.
    func askSwitch() async -> Duration? {
        guard let answer = await roles.remoteSwitch?.ask() else { return nil }
        if let isOff = answer.isOff, !Task.isCancelled { await killSwitch.set(isOff) }
        return max(answer.wait, .seconds(1))
    }

    /// Asks the vendor once, unprompted by the application.
    func poll() async {
        if let rules {
            _ = try? await rules.current(force: true)
        } else {
            for session in sessions.all { try? await session.refresh() }
        }
    }

    /// Acts on the vendor's notice of a change.
    func heed(_ notice: ChangeNotice) async {
        switch notice {
        case .changed:
            reused.noteChange()
            await askAgain()
        case .unheard(let error):
            // Note it first, so that an answer under way can't miss it.
            unheardChanges.note(error)
            for session in sessions.all { session.markStale() }
            environment.log.log(.warning, "changes.unheard", "\(provider.name) tells of no changes any more: \(error)")
            announceStale(error)
        }
    }

    /// Announces that current decisions may be out of date, if there are any.
    func announceStale(_ error: ExperimentationError) {
        if status.status == .ready { killSwitch.announce(.stale, .stale, error: error) }
    }

    /// Updates open sessions to what would be decided now.
    func askAgain() async {
        if let rules { _ = try? await rules.current(force: true) }
        // A session that was never refreshed keeps its defaults, or what it began with, until it is.
        for session in sessions.all where session.snapshots.current.revision > 0 {
            try? await session.refresh(force: rules == nil)
        }
    }
}
