import Experimentation
import Synchronization

/// Notices what happens to users while something about them is under way.
///
/// A denial of consent waits neither for the vendor nor for the steps that are left, so it may remove a user in the
/// middle. Nothing more may then be sent about them, and nothing of an answer be kept.
final class UserWatch: Sendable {
    /// What happens to users.
    enum Event {
        /// They are removed.
        case removed
        /// The application has named another in their place.
        case followed
        /// Their recipients are added or changed, and a search may have found something else before.
        case overtaken
    }

    private struct State {
        var users: Set<ExactText>
        var events: Set<Event> = []
    }

    private let state: Mutex<State>

    fileprivate init(_ users: Set<ExactText>) { state = Mutex(State(users: users)) }

    /// Whether a user was removed.
    var isOneRemoved: Bool { state.withLock { $0.events.contains(.removed) } }
    /// Whether the application has named another own user.
    var isFollowed: Bool { state.withLock { $0.events.contains(.followed) } }
    /// Whether a recipient was added or changed; asked once.
    func takeOvertaken() -> Bool { state.withLock { $0.events.remove(.overtaken) != nil } }

    /// Watches further users, whom an answer has named.
    func add(_ users: Set<ExactText>) { state.withLock { $0.users.formUnion(users) } }

    fileprivate func note(_ event: Event, of users: Set<ExactText>?) {
        state.withLock { state in
            if users.map({ !$0.isDisjoint(with: state.users) }) ?? true { state.events.insert(event) }
        }
    }
}

/// The watches of everything under way.
final class UserWatches: Sendable {
    /// Stands for this installation's own user, whoever that is.
    static let ownUser = ExactText("")
    /// The maximum number of merges between two steps; some may have been abandoned.
    static let mostMerges = 1_000

    private struct Entry { weak var watch: UserWatch? }

    private struct State {
        var entries: [Entry] = []
        /// Those that live from one step of a merge to the next.
        var merges: [String: UserWatch] = [:]
    }

    private let state = Mutex(State())

    /// Watches users from now on, for as long as the watch lives.
    func begin(_ users: Set<ExactText>) -> UserWatch {
        let watch = UserWatch(users)
        state.withLock { state in
            state.entries.removeAll { $0.watch == nil }
            state.entries.append(Entry(watch: watch))
        }
        return watch
    }

    /// Watches the users of a merge, as far as they are known, until ``end(_:)``.
    func begin(_ intent: MergeIntent) -> UserWatch {
        let new = begin(intent.users)
        return state.withLock { state in
            if let known = state.merges[intent.id] {
                known.add(intent.users)
                return known
            }
            if state.merges.count >= Self.mostMerges { _ = state.merges.popFirst() }
            state.merges[intent.id] = new
            return new
        }
    }

    /// Notes that a merge is over.
    func end(_ intent: MergeIntent) { state.withLock { $0.merges[intent.id] = nil } }

    /// Notes what happens to users, or to all of them if `nil`.
    ///
    /// The cause itself, if it is watched, isn't affected.
    func note(_ event: UserWatch.Event, of users: Set<ExactText>?, by cause: UserWatch? = nil) {
        let watches = state.withLock { $0.entries.compactMap(\.watch) }
        for watch in watches where watch !== cause { watch.note(event, of: users) }
    }
}
