/// Why a vendor has not taken events that are themselves in order; open to others.
///
/// It is stored with the events that wait, and ``OutboxStatus/failures`` counts the events by reason.
public struct OutageReason: RawRepresentable, Sendable, Hashable, Codable {
    /// The reason as stored and shown.
    public let rawValue: String
    /// Creates a reason from its written form.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// No connection could be made, or it broke.
    public static let unreachable = OutageReason(rawValue: "can't be reached")
    /// The connection was made, but no complete answer arrived before the deadline.
    public static let timeout = OutageReason(rawValue: "no answer in time")
    /// The vendor reported that it is overloaded: a 429, a `Retry-After`, or its own form of it.
    public static let patience = OutageReason(rawValue: "asked for patience")
    /// Nothing was sent, because the vendor's rate limit was used up.
    public static let pace = OutageReason(rawValue: "its limit of requests was reached")
    /// The answer wasn't the vendor's, but for example a captive portal's page.
    public static let foreign = OutageReason(rawValue: "something else answered in its place")
    /// The answer exceeded the size that is read.
    public static let tooLarge = OutageReason(rawValue: "an answer that is too large")
    /// The vendor's kill switch is on.
    public static let disabled = OutageReason(rawValue: "switched off by the vendor")
    /// The delivery was abandoned before its end.
    public static let interrupted = OutageReason(rawValue: "interrupted")
    /// There was no answer, for an unknown reason.
    public static let noAnswer = OutageReason(rawValue: "no answer")
    /// The vendor took nothing and answered with this status.
    public static func answered(_ status: Int) -> OutageReason { OutageReason(rawValue: "answered \(status)") }
}

extension OutageReason: CustomStringConvertible {
    /// The written form.
    public var description: String { rawValue }
}
