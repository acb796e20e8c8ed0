import Experimentation
import Synchronization

/// The users whom the current step of a merge is about; steps are taken one after the other.
///
/// A denial of consent doesn't wait for the vendor, so it may remove a user while a step is under way. Nothing of the
/// answer may then be kept.
final class MergingUsers: Sendable {
    private struct State {
        var users: Set<ExactText> = []
        var isOneRemoved = false
    }

    private let state = Mutex(State())

    /// Whether a user was removed since the step began.
    var isOneRemoved: Bool { state.withLock(\.isOneRemoved) }

    /// Notes that a step begins.
    func begin(_ userIDs: [String]) {
        state.withLock { $0 = State(users: Set(userIDs.lazy.map { ExactText($0) })) }
    }

    /// Notes that a user is being removed; this comes before the removal itself.
    func remove(_ userID: String) {
        state.withLock { state in
            if state.users.contains(ExactText(userID)) { state.isOneRemoved = true }
        }
    }

    /// Notes that all users are being removed.
    func removeAll() { state.withLock { $0.isOneRemoved = true } }
}
