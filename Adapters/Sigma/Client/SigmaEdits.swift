/// Changes of a user's properties and of the local forced list, which can be applied to any stored state.
///
/// Of several changes of the same property or entry only the last is kept, so that they take no more room than their
/// result.
struct SigmaEdits: Sendable {
    private enum Entry {
        case included(group: Int?)
        case removed
    }

    private var replacement: SigmaUser?
    private var changes: [String: SigmaUser.Builder.Change] = [:]
    private var emptiesList = false
    private var entries: [String: Entry] = [:]

    // MARK: The user

    /// Whether the user's properties were changed.
    var changesUser: Bool { replacement != nil || !changes.isEmpty }

    /// Replaces all of the user's properties.
    mutating func replace(with user: SigmaUser) { (replacement, changes) = (user, [:]) }

    /// Changes single properties.
    mutating func change(_ changes: [SigmaUser.Builder.Change]) {
        for change in changes { self.changes[change.name] = change }
    }

    /// Returns a user with the changes.
    func applied(to user: SigmaUser) -> SigmaUser {
        var user = replacement ?? user
        user.apply(Array(changes.values))
        return user
    }

    // MARK: The local forced list

    /// Whether the list was changed.
    var changesList: Bool { emptiesList || !entries.isEmpty }

    /// Adds an entry, with the index of a group if one was named.
    mutating func include(_ experiment: String, group: Int?) { entries[experiment] = .included(group: group) }

    /// Removes an entry.
    mutating func exclude(_ experiment: String) { entries[experiment] = .removed }

    /// Removes all entries.
    mutating func excludeAll() { (emptiesList, entries) = (true, [:]) }

    /// Returns a list with the changes.
    func applied(to list: [String: Int?]) -> [String: Int?] {
        var list = emptiesList ? [:] : list
        for (experiment, entry) in entries {
            switch entry {
            case .included(let group): list.updateValue(group, forKey: experiment)
            case .removed: list.removeValue(forKey: experiment)
            }
        }
        return list
    }
}
