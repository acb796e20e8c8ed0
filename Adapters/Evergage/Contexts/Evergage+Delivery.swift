import Experimentation

extension Evergage {
    /// Sets whether there is a network; without one, deliveries wait instead of failing.
    ///
    /// It may be set before ``start(_:)``, and holds until it is set again.
    public func setConnectivity(_ connectivity: Connectivity) {
        self.connectivity = connectivity
        perform { await $0.client?.setConnectivity(connectivity) }
    }

    /// Delivers what can be delivered, and waits for it.
    ///
    /// - Parameter duration: How long to wait at most.
    public func flush(within duration: Duration = .seconds(30)) async {
        catchUp()
        setAlarm()
        finishConsent()
        finishLaunch()
        while let operation = lastOperation {
            await operation.value
            if operation == lastOperation { break }
        }
        await drain(within: duration)
    }

    /// Delivers what can be delivered once the operations before have ended.
    ///
    /// Later operations don't wait for it: a withdrawal of consent must not wait for a slow vendor.
    ///
    /// - Parameters:
    ///   - duration: How long to go on at most.
    ///   - retrying: Whether to wait for retries; if not, everything is tried once.
    func deliverSoon(within duration: Duration = .seconds(30), retrying: Bool = true) {
        finishConsent()
        finishLaunch()
        let before = lastOperation
        Task { [weak self] in
            await before?.value
            await self?.drain(within: duration, retrying: retrying)
        }
    }

    private func drain(within duration: Duration, retrying: Bool = true) async {
        do throws(ExperimentationError) {
            try await client?.flush(within: duration, retrying: retrying)
        } catch {
            drop(.error, "the events that wait can't be read: \(error)")
        }
    }
}
