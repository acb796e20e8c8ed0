import Synchronization

/// Tells work under way for users what happens to them meanwhile.
///
/// The raw value of each event is a separate bit.
package final class UserWatches<Event: RawRepresentable<UInt8> & Sendable>: Sendable {
    /// A watch on users, for as long as it is held.
    package final class Watch: Sendable {
        fileprivate final class Mark: Sendable {
            let bits = Atomic<UInt8>(0)
        }

        fileprivate let mark = Mark()
        private let users: Mutex<Set<ExactText>>
        private let watches: UserWatches

        fileprivate init(_ users: Set<ExactText>, _ watches: UserWatches) {
            self.users = Mutex(users)
            self.watches = watches
            watches.add(mark, of: users)
        }

        deinit { watches.remove(mark, of: users.withLock(\.self)) }

        /// Watches further users from now on.
        package func add(_ more: Set<ExactText>) {
            users.withLock { $0.formUnion(more) }
            watches.add(mark, of: more)
        }

        /// Whether an event has happened to one of the users since the watch on that user began.
        package func has(_ event: Event) -> Bool {
            mark.bits.load(ordering: .sequentiallyConsistent) & event.rawValue != 0
        }

        /// Whether an event has happened to one of the users since this was last called.
        package func take(_ event: Event) -> Bool {
            mark.bits.bitwiseAnd(~event.rawValue, ordering: .sequentiallyConsistent).oldValue & event.rawValue != 0
        }
    }

    private typealias Marks = [ObjectIdentifier: Watch.Mark]

    private struct State {
        var all: Marks = [:]
        var byUser: [ExactText: Marks] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Begins to watch users.
    package func watch(_ users: Set<ExactText>) -> Watch { Watch(users, self) }

    /// Begins to watch a user.
    package func watch(_ userID: String) -> Watch { watch([ExactText(userID)]) }

    /// Runs work for a user.
    package func watching<Value: Sendable, Problem: Error>(
        _ userID: String,
        _ work: (Watch) async throws(Problem) -> Value
    ) async throws(Problem) -> Value { try await work(watch(userID)) }

    /// Notes what happens to users, or to all of them if `nil`.
    ///
    /// The watch of the cause itself, if it has one, isn't told.
    package func note(_ event: Event, of users: Set<ExactText>?, by cause: Watch? = nil) {
        state.withLock { state in
            let told = users.map { users in users.compactMap { state.byUser[$0] } } ?? [state.all]
            for mark in told.joined().map(\.value) where mark !== cause?.mark {
                mark.bits.bitwiseOr(event.rawValue, ordering: .sequentiallyConsistent)
            }
        }
    }

    private func add(_ mark: Watch.Mark, of users: Set<ExactText>) {
        state.withLock { state in
            state.all[ObjectIdentifier(mark)] = mark
            for user in users { state.byUser[user, default: [:]][ObjectIdentifier(mark)] = mark }
        }
    }

    private func remove(_ mark: Watch.Mark, of users: Set<ExactText>) {
        state.withLock { state in
            state.all[ObjectIdentifier(mark)] = nil
            for user in users {
                state.byUser[user]?[ObjectIdentifier(mark)] = nil
                if state.byUser[user]?.isEmpty == true { state.byUser[user] = nil }
            }
        }
    }
}
