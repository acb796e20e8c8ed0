import Experimentation

/// The code of a kind of behaviour; any number can be one.
public struct BehaviorType: RawRepresentable, Sendable, Hashable, Codable, ExpressibleByIntegerLiteral,
    CustomStringConvertible
{
    /// The code.
    public let rawValue: Int
    /// Creates a type from its code.
    public init(rawValue: Int) { self.rawValue = rawValue }
    /// Creates a type from its code.
    public init(integerLiteral value: Int) { rawValue = value }
    /// The code in digits, as on the wire.
    public var description: String { String(rawValue) }

    /// The application was installed.
    public static let installed: Self = 12
    /// A session began, or the application was opened by a link.
    public static let sessionStarted: Self = 13
    /// A session ended.
    public static let sessionEnded: Self = 14
    /// A goal was given up.
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
    /// The word under which a behaviour of any code travels.
    static let behaviorWord = "behavior"

    /// A behaviour of any code, with nothing added but the automatic attributes and the current campaign.
    ///
    /// - Parameters:
    ///   - type: The code, from 0 to 99999.
    ///   - attributes: What else is to be known; it goes before what is added automatically.
    /// - Returns: The event, for `track`.
    public static func behavior(_ type: BehaviorType, attributes: Attributes = [:]) -> TrackingEvent {
        let native = NativeEvent(type: behaviorWord, payload: ["code": .int(type.rawValue)])
        return TrackingEvent(.native(native), attributes: attributes)
    }

    /// That a session began, with parameters that may name a campaign.
    static func sessionStarted(attributes: Attributes) -> TrackingEvent {
        TrackingEvent(.sessionStarted, attributes: attributes)
    }
}
