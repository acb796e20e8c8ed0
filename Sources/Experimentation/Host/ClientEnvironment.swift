import Foundation

/// A client's external dependencies: clock, randomness, ids and log.
///
/// Tests replace each of them; applications rarely set more than ``log``.
public struct ClientEnvironment: Sendable {
    /// The clock.
    public var time: any TimeSource
    /// Returns a new id with each call; a UUID by default.
    public var makeID: @Sendable () -> String
    /// Returns a new number from 0 up to, but not including, 1 with each call; spreads retries and polls.
    public var jitter: @Sendable () -> Double
    /// Where messages are logged.
    public var log: any LogSink
    /// Observes refreshes, deliveries and requests; none by default.
    public var operations: (any OperationObserver)?

    /// Creates an environment.
    public init(
        time: any TimeSource = SystemTime(),
        makeID: @escaping @Sendable () -> String = { FreshID.make() },
        jitter: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        log: any LogSink = NoLog(),
        operations: (any OperationObserver)? = nil
    ) {
        self.time = time
        self.makeID = makeID
        self.jitter = jitter
        self.log = log
        self.operations = operations
    }
}

/// Whether the application is in the foreground.
public enum ApplicationState: String, Sendable, Hashable, Codable {
    /// In front, and used.
    case foreground
    /// In the foreground, but without user activity for a while.
    case idle
    /// Not in front.
    case background
}

/// Whether the host believes that it has a network.
public enum Connectivity: String, Sendable, Hashable, Codable {
    /// Not stated.
    case unknown
    /// There is a network.
    case online
    /// There is no network; deliveries wait until there is.
    case offline
}
