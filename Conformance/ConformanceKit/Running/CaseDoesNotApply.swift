/// That a case has nothing to see: the vendor's trait that it is about isn't among what can be declared.
///
/// Thrown by a case, never by a subject: what a subject declares it can't wave away.
public struct CaseDoesNotApply: Error, Sendable, Hashable, CustomStringConvertible {
    /// Why, for a person.
    public let reason: String

    /// Creates the statement.
    public init(_ reason: String) { self.reason = reason }

    /// The reason.
    public var description: String { reason }
}
