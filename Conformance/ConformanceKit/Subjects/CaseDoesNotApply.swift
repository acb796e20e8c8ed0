/// Thrown when a case doesn't apply: it is about a trait of the vendor that isn't a declarable capability.
///
/// Only cases may throw it. Thrown by a subject's stage it is a failure: no subject can exempt itself from what it
/// declares.
public struct CaseDoesNotApply: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason.
    public let reason: String

    /// Creates the error.
    public init(_ reason: String) { self.reason = reason }

    /// The reason.
    public var description: String { reason }
}
