/// A vendor's switch that doesn't come with decisions or deliveries: the client asks for it on its own.
///
/// It is asked when a client is made and again after each wait, also while nothing is delivered, so that it is noticed when
/// the vendor is on again.
public protocol RemoteSwitch: Sendable {
    /// Asks the vendor whether it has switched the application off.
    ///
    /// It ends by itself: every request in it has a deadline.
    func ask() async -> RemoteSwitchAnswer
}

/// What a vendor says of its switch.
public struct RemoteSwitchAnswer: Sendable, Hashable {
    /// Whether the application is switched off; `nil` if the vendor doesn't say, and then what is known stays.
    public var isOff: Bool?
    /// How long to wait before the vendor is asked again; at least a second.
    public var wait: Duration

    /// Creates an answer.
    public init(isOff: Bool?, wait: Duration) {
        self.isOff = isOff
        self.wait = wait
    }
}
