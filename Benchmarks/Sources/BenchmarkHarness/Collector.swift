import BenchmarkCollector

/// A server that answers every request at once with an empty 200, in a process of its own.
public struct Collector: Sendable {
    /// Where it listens, on 127.0.0.1.
    public let port: UInt16

    /// Starts it; it serves as long as this process lives.
    public init() {
        port = collector_start()
        precondition(port != 0)
    }
}
