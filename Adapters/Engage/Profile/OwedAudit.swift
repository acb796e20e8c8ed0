import Foundation

/// A row owed to the audit table for a completed merge.
///
/// It is kept until the table has it, whatever is merged meanwhile. Its key was generated with the merge, so writing it
/// twice creates one row.
struct OwedAudit: Sendable, Hashable, Codable {
    /// The key of the row.
    var key: String
    /// The abandoned recipient.
    var oldRecipient: String
    /// The surviving recipient.
    var newRecipient: String
    /// The date of the merge.
    var moment: Date
    /// The mobile user id that was merged, which owns the row.
    var mobileUserID: String
}

extension OwedAudit {
    /// Creates the row of a merge; `nil` if the merge has none.
    init?(_ intent: MergeIntent) {
        guard let moment = intent.moment else { return nil }
        self.init(
            key: intent.auditKey,
            oldRecipient: intent.current,
            newRecipient: intent.existing,
            moment: moment,
            mobileUserID: intent.mobileUserID
        )
    }

    /// The row's columns, by the configured names.
    func row(in table: EngageConfiguration.AuditTable) -> XMLAPIFields {
        [
            table.keyColumn: key, table.oldRecipientColumn: oldRecipient, table.newRecipientColumn: newRecipient,
            table.dateColumn: EngageTimestamp.merge(moment),
        ]
    }
}
