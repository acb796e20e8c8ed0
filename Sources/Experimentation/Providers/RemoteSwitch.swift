/// A vendor's kill switch that doesn't come with decisions or deliveries: the client asks about it separately.
///
/// It is asked when a client is created and again after each wait, even while nothing is delivered, so that the client
/// notices when the vendor is back on.
public protocol RemoteSwitch: Sendable {
    /// Asks the vendor whether its kill switch is on.
    ///
    /// The call must end by itself, so every request needs a deadline.
    func ask() async -> RemoteSwitchAnswer
}

/// A vendor's answer about its kill switch.
public struct RemoteSwitchAnswer: Sendable, Hashable {
    /// Whether the kill switch is on; `nil` if the vendor doesn't say, which leaves the known state as it is.
    public var isOff: Bool?
    /// How long to wait before asking again; at least a second.
    public var wait: Duration

    /// Creates an answer.
    public init(isOff: Bool?, wait: Duration) {
        self.isOff = isOff
        self.wait = wait
    }
}
