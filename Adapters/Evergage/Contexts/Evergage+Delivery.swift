import Experimentation

extension Evergage {
    /// Sets whether there is a network; without one, deliveries wait instead of failing.
    ///
    /// It may be set before ``start(_:)``, and stays in effect until it is set again.
    public func setConnectivity(_ connectivity: Connectivity) {
        self.connectivity = connectivity
        perform { await $0.client?.setConnectivity(connectivity) }
    }

    /// Drops the campaigns of all events so far, both held and not yet received; handlers stay.
    ///
    /// The session also does so when it learns of a denial, but that waits for the store.
    func dropCampaigns() {
        for context in contexts {
            session?.clearCampaigns(on: context.surface)
            context.attach()
        }
    }

    /// Delivers what can be delivered, and waits for it.
    ///
    /// - Parameter duration: How long to wait at most, also for a store that doesn't answer; whatever is in progress
    ///   then continues.
    public func flush(within duration: Duration = .seconds(30)) async {
        act { _ in finish() }
        let deadline = environment.time.instant.advanced(by: duration)
        await environment.time.ends(by: deadline) {
            await self.operations.end()
            await self.drain(by: deadline)
        }
    }

    /// Delivers what can be delivered once all earlier operations have ended.
    ///
    /// Later operations don't wait for it: a denial of consent must not wait for a slow vendor.
    ///
    /// - Parameters:
    ///   - duration: How long to continue at most.
    ///   - retrying: Whether to wait for retries; if not, everything is tried once.
    func deliverSoon(within duration: Duration = .seconds(30), retrying: Bool = true) {
        finish()
        let deadline = environment.time.instant.advanced(by: duration)
        let before = operations.latest
        Task { [weak self] in
            await before?.value
            await self?.drain(by: deadline, retrying: retrying)
        }
    }

    /// Delivers until a deadline; when it has passed already, everything is tried once, without waiting.
    private func drain(by deadline: ContinuousClock.Instant, retrying: Bool = true) async {
        let rest = environment.time.instant.duration(to: deadline)
        await trying(try await client?.flush(within: rest, retrying: retrying), "the events that wait can't be read")
    }
}
