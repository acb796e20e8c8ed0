import BenchmarkCollector

/// A server process that answers every request at once with an empty 200.
public struct Collector: Sendable {
    /// The port on 127.0.0.1.
    public let port: UInt16

    /// Starts the server; it runs as long as this process.
    public init() {
        port = collector_start()
        precondition(port != 0)
    }
}
