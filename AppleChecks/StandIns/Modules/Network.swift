import Dispatch

/// The part of the class that the sources use, as Network declares it.
public final class NWPathMonitor: Sendable {
    /// Creates a monitor of all interfaces.
    public init() {}

    /// Called with the current path, and with each change.
    public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get { nil }
        set {}
    }
    /// Begins calling the handler.
    public func start(queue: DispatchQueue) {}
    /// Ends the monitoring.
    public func cancel() {}
}

/// The part of the structure that the sources use, as Network declares it.
public struct NWPath: Sendable {
    /// Whether there is a path.
    public enum Status: Sendable {
        case satisfied
        case unsatisfied
        case requiresConnection
    }

    /// Whether there is a path.
    public let status: Status
}
