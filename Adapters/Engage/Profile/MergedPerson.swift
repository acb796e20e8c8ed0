import Experimentation

/// A user with the ids and recipients from which they were merged.
struct MergedPerson: Sendable, Hashable {
    private(set) var ids: Set<ExactText>
    private(set) var recipients: Set<String>

    /// Creates a user; the recipient is empty if it isn't known.
    init(id: String, recipient: String) {
        ids = [ExactText(id)]
        recipients = recipient.isEmpty ? [] : [recipient]
    }

    /// Whether a row of the audit table is about this user.
    func owns(_ audit: OwedAudit) -> Bool {
        ids.contains(ExactText(audit.mobileUserID)) || recipients.contains(audit.newRecipient)
    }

    /// Whether a merge has this user on either side, or searches for them.
    func owns(_ merge: MergeIntent) -> Bool {
        !ids.isDisjoint(with: merge.users) || recipients.contains(merge.existing)
    }

    /// Adds the former id and recipient of a row about this user.
    mutating func add(_ audit: OwedAudit) {
        guard owns(audit) else { return }
        ids.insert(ExactText(audit.mobileUserID))
        recipients.insert(audit.oldRecipient)
    }

    /// Adds the former id and recipient of a merge that lacks only its audit row.
    mutating func add(_ merge: MergeIntent) {
        guard owns(merge), merge.step == .audit else { return }
        ids.insert(ExactText(merge.mobileUserID))
        recipients.insert(merge.current)
    }
}
