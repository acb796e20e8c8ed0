import Experimentation
import Synchronization

/// The users of merges under way.
///
/// A denial of consent waits neither for the vendor nor for the steps that are left, so it may remove a user in the
/// middle of a merge. No further step may then be taken, and nothing of an answer be kept.
final class MergingUsers: Sendable {
    /// The maximum number of merges; some may have been abandoned between two steps.
    static let mostMerges = 1_000

    private struct Merge {
        var users: Set<ExactText> = []
        var isOneRemoved = false
        var isOvertaken = false
    }

    private let merges = Mutex<[String: Merge]>([:])

    /// Notes that a merge is under way, and the users whom it is about as far as they are known.
    func begin(_ intent: MergeIntent) {
        merges.withLock { merges in
            if merges.count >= Self.mostMerges, merges[intent.id] == nil, let any = merges.keys.first {
                merges[any] = nil
            }
            merges[intent.id, default: Merge()].users.formUnion(intent.users)
        }
    }

    /// Notes that a merge is over.
    func end(_ intent: MergeIntent) { merges.withLock { $0[intent.id] = nil } }

    /// Whether a user of a merge was removed since it began.
    func isOneRemoved(from intent: MergeIntent) -> Bool { merges.withLock { $0[intent.id]?.isOneRemoved ?? false } }

    /// Notes that recipients of users were added or changed, which merges about these users may have searched for before.
    ///
    /// The merge that has changed them isn't overtaken by itself.
    func overtake(_ users: Set<ExactText>, by changing: MergeIntent? = nil) {
        merges.withLock { merges in
            for (id, merge) in merges where id != changing?.id && !merge.users.isDisjoint(with: users) {
                merges[id]?.isOvertaken = true
            }
        }
    }

    /// Whether a merge that hasn't written anything must make a new plan; asked once.
    func isOvertaken(_ intent: MergeIntent) -> Bool {
        merges.withLock { merges in
            guard merges[intent.id]?.isOvertaken == true else { return false }
            merges[intent.id]?.isOvertaken = false
            return !intent.isBegun && intent.step != .setUp
        }
    }

    /// Notes that a user is removed.
    func remove(_ userID: String) {
        let user = ExactText(userID)
        merges.withLock { merges in
            for (id, merge) in merges where merge.users.contains(user) { merges[id]?.isOneRemoved = true }
        }
    }

    /// Notes that all users are removed.
    func removeAll() {
        merges.withLock { merges in
            for id in merges.keys { merges[id]?.isOneRemoved = true }
        }
    }
}
