import Experimentation

/// Events that concern users while an operation about them is in progress.
///
/// A denial of consent waits neither for the vendor nor for the remaining steps, so it may remove a user in the middle
/// of an operation. Nothing more may then be sent about them, and nothing of an answer may be kept.
enum UserEvent: UInt8, Sendable {
    /// The user is removed.
    case removed = 1
    /// The application has named another user in their place.
    case followed = 2
    /// The user's recipients are added or changed; an earlier search may have found something else.
    case overtaken = 4
}

typealias UserWatch = UserWatches<UserEvent>.Watch

extension ExactText {
    /// Stands for this installation's own user among watched ones, whoever that is.
    static let ownUser = ExactText("")
}
