import Foundation

/// A recipient that a merge has given to a known user: it is no longer that of the former mobile user id, but events of
/// before are that person's.
struct HandedOnRecipient: Sendable, Hashable, Codable {
    /// The maximum number of them for one former id; the latest ones count.
    static let mostOfOneID = 10

    var recipient: String
    /// The date of the merge.
    var date: Date
}
