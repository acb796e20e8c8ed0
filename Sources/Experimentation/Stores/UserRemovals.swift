/// Tells work under way for users that the users have been removed meanwhile, so that it keeps nothing about them.
package typealias UserRemovals = UserWatches<UserRemoval>

/// The one thing that ``UserRemovals`` tells.
package enum UserRemoval: UInt8, Sendable {
    case removed = 1
}

extension UserWatches where Event == UserRemoval {
    /// Notes that a user is being removed.
    ///
    /// Call it before anything is removed: work that checks after its own write then sees the note, or else the removal
    /// comes after that write. A watcher that only wants to know whether its write is still there is told after the
    /// removal.
    package func note(_ userID: String) { note(.removed, of: [ExactText(userID)]) }
}

extension UserWatches.Watch where Event == UserRemoval {
    /// Whether the user has been removed since the watch began.
    package var isRemoved: Bool { has(.removed) }
}
