import Synchronization

/// A bounded set of the newest members.
final class BoundedSet<Member: Hashable & Sendable>: Sendable {
    private let members: Mutex<RecentTable<Member, Bool>>

    init(limit: Int) { members = Mutex(RecentTable(limit: limit)) }

    /// Inserts a member.
    ///
    /// - Returns: Whether it is new.
    func insert(_ member: Member) -> Bool {
        members.withLock { members in
            guard members[member] == nil else { return false }
            members.set(true, for: member)
            return true
        }
    }

    /// Whether a member is there.
    func contains(_ member: Member) -> Bool { members.withLock { $0[member] != nil } }

    /// Removes a member.
    func remove(_ member: Member) { members.withLock { $0.remove(member) } }
}
