import Experimentation

/// The code of a kind of behavior; any number is allowed.
public struct BehaviorType: RawRepresentable, Sendable, Hashable, Codable, ExpressibleByIntegerLiteral,
    CustomStringConvertible
{
    /// The code.
    public let rawValue: Int
    /// Creates a type from its code.
    public init(rawValue: Int) { self.rawValue = rawValue }
    /// Creates a type from its code.
    public init(integerLiteral value: Int) { rawValue = value }
    /// The codes that can be sent.
    static let codes = 0...99_999
    /// The code in digits, as on the wire.
    public var description: String { String(rawValue) }

    /// The application was installed.
    public static let installed: Self = 12
    /// A session began, or the application was opened by a link.
    public static let sessionStarted: Self = 13
    /// A session ended.
    public static let sessionEnded: Self = 14
    /// A goal was abandoned.
    public static let goalAbandoned: Self = 15
    /// A goal was reached.
    public static let goalCompleted: Self = 16
    /// An event with a name.
    public static let namedEvent: Self = 17
    /// A notification arrived.
    public static let receivedNotification: Self = 48
    /// A notification was opened.
    public static let openedNotification: Self = 49
}

extension TrackingEvent {
    /// The native event type of a behavior with any code.
    static let behaviorWord = "behavior"

    /// Returns a behavior with any code, with only the automatic attributes and the current campaign added.
    ///
    /// - Parameters:
    ///   - type: The code, from 0 to 99999.
    ///   - attributes: Further attributes; they take precedence over the automatic ones.
    /// - Returns: The event, for `track`.
    public static func behavior(_ type: BehaviorType, attributes: Attributes = [:]) -> TrackingEvent {
        let native = NativeEvent(type: behaviorWord, payload: ["code": .int(type.rawValue)])
        return TrackingEvent(.native(native), attributes: attributes)
    }
}
