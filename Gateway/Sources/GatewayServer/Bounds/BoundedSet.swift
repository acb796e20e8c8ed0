import Synchronization

/// A set of the newest members, bounded in number.
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

    /// Whether the set contains a member.
    func contains(_ member: Member) -> Bool { members.withLock { $0[member] != nil } }

    /// Removes a member.
    func remove(_ member: Member) { members.withLock { $0.remove(member) } }
}
