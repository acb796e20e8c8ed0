import Synchronization

extension MockServer {
    /// Answers from now on with the delay of a server at this distance.
    ///
    /// Each answer is this late, and the first one on a connection twice as late, because opening it takes a round trip
    /// as well. TLS, which would take one or two more, and the network's bandwidth aren't simulated.
    public func setRoundTrip(_ duration: Duration) { state.withLock { $0.roundTrip = max(.zero, duration) } }
}
