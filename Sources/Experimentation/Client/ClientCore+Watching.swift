extension ClientCore {
    /// Asks the vendor once whether it has switched the application off.
    ///
    /// - Returns: How long to wait before it is asked again.
    func askSwitch() async -> Duration? {
        guard let answer = await roles.remoteSwitch?.ask() else { return nil }
        if let isOff = answer.isOff, !Task.isCancelled { await killSwitch.set(isOff) }
        return max(answer.wait, .seconds(1))
    }

    /// Acts on what the vendor tells of changes.
    func heed(_ notice: ChangeNotice) async {
        switch notice {
        case .changed:
            await poll()
        case .unheard(let error):
            for session in sessions.all { session.markStale() }
            environment.log.log(.warning, "changes.unheard", "\(provider.name) tells of no changes any more: \(error)")
            if status.status == .ready { status.announce(.stale, .stale, error: error) }
        }
    }

    /// Asks the vendor once, on the client's own account.
    func poll() async {
        if let rules {
            _ = try? await rules.current(force: true)
        } else {
            for session in sessions.all { try? await session.refresh() }
        }
    }
}
