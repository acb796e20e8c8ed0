/// Why a vendor has not taken events that nothing is wrong with; open to others.
///
/// It is kept with the events that wait, and ``OutboxStatus/failures`` counts them by it.
public struct OutageReason: RawRepresentable, Sendable, Hashable, Codable {
    /// The reason as it is kept and shown.
    public let rawValue: String
    /// Creates a reason from its written form.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// No connection came about, or it broke.
    public static let unreachable = OutageReason(rawValue: "can't be reached")
    /// A connection came about, but no complete answer before the deadline.
    public static let timeout = OutageReason(rawValue: "no answer in time")
    /// The vendor said that it has too much to do: a 429, a `Retry-After`, or its own word for it.
    public static let patience = OutageReason(rawValue: "asked for patience")
    /// Nothing was sent, because the vendor's limit of requests was used up.
    public static let pace = OutageReason(rawValue: "its limit of requests was reached")
    /// Something answered that isn't the vendor, such as a portal's page.
    public static let foreign = OutageReason(rawValue: "something else answered in its place")
    /// The answer was more than is read.
    public static let tooLarge = OutageReason(rawValue: "an answer that is too large")
    /// The vendor has switched the application off.
    public static let disabled = OutageReason(rawValue: "switched off by the vendor")
    /// The delivery was given up before its end.
    public static let interrupted = OutageReason(rawValue: "interrupted")
    /// Nothing is known but that no answer came.
    public static let noAnswer = OutageReason(rawValue: "no answer")
    /// The vendor answered with a status by which it took nothing.
    public static func answered(_ status: Int) -> OutageReason { OutageReason(rawValue: "answered \(status)") }
}

extension OutageReason: CustomStringConvertible {
    /// The written form.
    public var description: String { rawValue }
}
