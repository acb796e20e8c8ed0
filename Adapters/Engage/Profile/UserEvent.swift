import Experimentation

/// What happens to users while something about them is under way.
///
/// A denial of consent waits neither for the vendor nor for the steps that are left, so it may remove a user in the
/// middle. Nothing more may then be sent about them, and nothing of an answer be kept.
enum UserEvent: UInt8, Sendable {
    /// They are removed.
    case removed = 1
    /// The application has named another in their place.
    case followed = 2
    /// Their recipients are added or changed, and a search may have found something else before.
    case overtaken = 4
}

typealias UserWatch = UserWatches<UserEvent>.Watch

extension ExactText {
    /// Stands for this installation's own user among watched ones, whoever that is.
    static let ownUser = ExactText("")
}
