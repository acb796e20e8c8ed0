import Foundation

/// A row that the audit table is owed for a merge that is done.
///
/// It is kept until the table has it, whatever is merged meanwhile. Its key was made with the merge, so writing it twice
/// makes one row.
struct OwedAudit: Sendable, Hashable, Codable {
    /// The key of the row.
    var key: String
    /// The recipient that was given up.
    var oldRecipient: String
    /// The recipient that was taken on.
    var newRecipient: String
    /// When.
    var moment: Date
    /// The mobile user id that was merged: whose row it is.
    var mobileUserID: String
}

extension OwedAudit {
    /// The row of a merge; `nil` if it has none.
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
