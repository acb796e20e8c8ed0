import Foundation

/// A recipient that a merge has given to a known user.
///
/// It no longer belongs to the former mobile user id, but earlier events are that person's.
struct HandedOnRecipient: Sendable, Hashable, Codable {
    /// The maximum number of such recipients for one former id; the latest ones are kept.
    static let mostOfOneID = 10

    var recipient: String
    /// The date of the merge.
    var date: Date
}
