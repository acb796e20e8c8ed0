import Foundation

/// What a client takes from outside: time, chance, names, and a place for messages.
///
/// Tests replace each of them; applications rarely need more than ``log``.
public struct ClientEnvironment: Sendable {
    /// Time.
    public var time: any TimeSource
    /// A new id at each call: a UUID unless replaced.
    public var makeID: @Sendable () -> String
    /// A number from 0 up to 1, anew at each call; spreads retries and polls.
    public var jitter: @Sendable () -> Double
    /// Where messages go.
    public var log: any LogSink
    /// What goes around refreshes, deliveries and requests; nobody unless named.
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

/// Whether the application is in front of its user.
public enum ApplicationState: String, Sendable, Hashable, Codable {
    /// In front, and used.
    case foreground
    /// In front, but untouched for a while.
    case idle
    /// Not in front.
    case background
}

/// Whether the host believes that it has a network.
public enum Connectivity: String, Sendable, Hashable, Codable {
    /// Not stated.
    case unknown
    /// There is one.
    case online
    /// There is none; deliveries wait until there is.
    case offline
}
