import Foundation
import Synchronization

extension UserSession {
    /// Whether a part of the application is known here and hasn't been closed, or is the whole.
    func isOpen(_ surface: String?) -> Bool { surface == nil || state.withLock { $0.board.isOpen(surface) } }
}

extension UserSession.State {
    /// Whether the session is still a given user's: two ids that are equivalent in Unicode may belong to different
    /// people.
    func isAbout(_ userID: String) -> Bool { ExactText(user.id) == ExactText(userID) }

    /// Makes the session another user's.
    ///
    /// - Parameter identity: The user's identity, already ``Identity/identified``.
    mutating func become(_ identity: Identity) {
        if !isAbout(identity.id) {
            board.dropHeld()
            restoration.startOver()
            assignments = StickyAssignments()
        }
        user.id = identity.id
        user.anonymousID = identity.anonymousID
        user.isAuthenticated = identity.isAuthenticated
        revision += 1
    }

    /// Changes attributes; ``FlagValue/null`` removes one.
    mutating func change(_ attributes: Attributes, at now: Date) {
        for (name, value) in attributes.values {
            let isRemoved = value == .null
            // Spelled out in full: a plain `nil` would be the value null.
            user.attributes[name] = isRemoved ? Optional.none : value
            attributeDates[name] = isRemoved ? nil : now
            pendingChanges[name] = value
        }
        revision += 1
    }

    /// Returns the attribute changes that the next event carries; none for a user who denies consent, whose only event
    /// is the signal of the denial.
    mutating func takeChanges() -> Attributes {
        if user.consent == .denied { return [:] }
        defer { pendingChanges = [:] }
        return pendingChanges
    }
}
