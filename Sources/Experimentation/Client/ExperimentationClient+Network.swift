import Synchronization

extension ExperimentationClient {
    /// Follows reports on the network: without a network, deliveries wait; they continue as soon as there is one.
    ///
    /// ```swift
    /// client.followConnectivity(.network())   // where the platform has a monitor: Apple's
    /// client.followConnectivity(reports)      // anywhere: whatever the host reports
    /// ```
    ///
    /// Following ends when the sequence ends (the network's state is unknown from then on), when the client ends, or
    /// when another sequence is followed.
    ///
    /// - Parameter reports: The state of the network, now and with each change.
    public func followConnectivity(_ reports: some AsyncSequence<Connectivity, Never> & Sendable) {
        let task = Task { [weak self] in
            for await connectivity in reports {
                guard let self, !Task.isCancelled else { return }
                await self.setConnectivity(connectivity)
            }
            if !Task.isCancelled { await self?.setConnectivity(.unknown) }
        }
        let former = following.withLock { following in
            defer { following = task }
            return following
        }
        former?.cancel()
    }
}
