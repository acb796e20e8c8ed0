import Experimentation
import Foundation

/// A merge of two recipients in progress: the goal, the recipients found, and the next step.
///
/// It is stored before the first write and after each step. Every step writes absolute values, or a row under a key
/// generated beforehand, so that a step with unknown outcome is simply repeated. The date is fixed once, and is the
/// same in the list and in the audit table.
struct MergeIntent: Sendable, Hashable, Codable {
    /// The next step.
    enum Step: String, Sendable, Hashable, Codable, CaseIterable {
        /// Ensure that the user has a recipient.
        case setUp
        /// Find a recipient that has the fields.
        case search
        /// Write the fields to the user's own recipient, because no recipient has them.
        case updateCurrent
        /// Write the mobile user id to the user's own recipient, which was found but has none.
        case claimCurrent
        /// Write the mobile user id to the recipient that was found.
        case claimExisting
        /// Write the history to the abandoned recipient, and remove the mobile user id from it where it moves.
        case releaseCurrent
        /// Use the other recipient from now on.
        case switchIDs
        /// Write the merge to the audit table.
        case audit
        /// Nothing.
        case done

        /// Whether it changes a recipient that has been found.
        var isWrite: Bool { [.updateCurrent, .claimCurrent, .claimExisting, .releaseCurrent].contains(self) }
    }

    /// The result of the search.
    enum Scenario: String, Sendable, Hashable, Codable {
        /// No recipient has the fields.
        case noMatch
        /// The user's own recipient has them.
        case itself
        /// Another recipient has them, and has no mobile user id, or this user's.
        case unclaimed
        /// Another recipient has them, and has a mobile user id of its own.
        case claimed
    }

    /// Identifies this merge.
    var id: String
    /// Columns and values that identify the known user.
    var fields: [String: String]
    /// The user's previous mobile user id.
    var mobileUserID: String
    /// The user's previous recipient; empty until ``Step/setUp``.
    var current = ""
    /// The recipient that was found.
    var existing = ""
    /// The mobile user id of the recipient that was found; empty if it has none.
    var existingMobileUserID = ""
    var scenario: Scenario?
    /// The date of the merge, fixed when the search ended.
    var moment: Date?
    /// The key of the row in the audit table, generated before the row is written.
    var auditKey = ""
    /// Whether to write history into the list; fixed with the plan.
    var writesHistory = false
    /// Whether to write history into the audit table; fixed with the plan.
    var writesAudit = false
    var step = Step.setUp
    /// How often the vendor has refused a step.
    var refusals: Int?

    init(id: String, fields: [String: String], mobileUserID: String) {
        self.id = id
        self.fields = fields
        self.mobileUserID = mobileUserID
    }

    /// The ids of the users whom the merge is about; a value searched for may be one of them.
    var users: Set<ExactText> {
        let ids = [mobileUserID, existingMobileUserID] + fields.values
        return Set(ids.lazy.filter { !$0.isEmpty }.map { ExactText($0) })
    }

    /// Records the user's own recipient.
    mutating func hasCurrent(_ recipient: String) {
        current = recipient
        step = .search
    }

    /// Records the result of the search, and plans the rest.
    ///
    /// `existing` is the recipient that has the fields, with its mobile user id; `nil` if there is none.
    mutating func found(
        _ existing: (id: String, mobileUserID: String)?,
        moment: Date,
        auditKey: String,
        writesHistory: Bool,
        writesAudit: Bool
    ) {
        self.moment = moment
        self.auditKey = auditKey
        self.writesHistory = writesHistory
        self.writesAudit = writesAudit
        guard let existing else {
            scenario = .noMatch
            step = .updateCurrent
            return
        }
        self.existing = existing.id
        existingMobileUserID = existing.mobileUserID
        if existing.id == current {
            scenario = .itself
            step = existing.mobileUserID.isEmpty ? .claimCurrent : .switchIDs
        } else if existing.mobileUserID.isEmpty {
            scenario = .unclaimed
            step = .claimExisting
        } else if ExactText(existing.mobileUserID) == ExactText(mobileUserID) {
            // An earlier merge claimed the recipient but got no further: the column still has to be cleared.
            scenario = .unclaimed
            step = .releaseCurrent
        } else {
            scenario = .claimed
            // Without history there is nothing to write: the reference sends an update without columns.
            step = writesHistory ? .releaseCurrent : .switchIDs
        }
    }

    /// Records that the current step was taken.
    mutating func taken() {
        step =
            switch step {
            case .setUp, .search: .search
            case .updateCurrent, .claimCurrent, .releaseCurrent: .switchIDs
            case .claimExisting: .releaseCurrent
            case .switchIDs: writesAudit && merged != nil ? .audit : .done
            case .audit, .done: .done
            }
    }

    /// How often the vendor may refuse a half-finished merge before it is abandoned.
    static let mostRefusals = 3

    /// Whether the vendor has received a part of the merge.
    var isBegun: Bool {
        switch step {
        case .releaseCurrent: scenario == .unclaimed
        case .switchIDs, .audit, .done: true
        case .setUp, .search, .updateCurrent, .claimCurrent, .claimExisting: false
        }
    }

    /// The same merge without a plan: the search result may have changed since.
    var begunAnew: MergeIntent { MergeIntent(id: id, fields: fields, mobileUserID: mobileUserID) }

    /// Records that the current step failed.
    ///
    /// - Parameters:
    ///   - fault: The vendor's answer; `nil` if it is unknown whether it took the step.
    ///   - isResumed: Whether the merge had been interrupted before.
    /// - Returns: Whether the merge is worth resuming. It isn't if the vendor refused it before anything was written,
    ///   since the same check begins it again, or if the vendor refused it again for a lasting reason.
    mutating func failed(_ fault: XMLAPIFault?, isResumed: Bool) -> Bool {
        if step == .search { return false }
        guard let fault else { return true }
        guard isBegun else { return false }
        refusals = (refusals ?? 0) + 1
        return !(fault.isLasting && isResumed) && (refusals ?? 0) < Self.mostRefusals
    }

    /// The user's recipient after the merge.
    var survivor: String { merged == nil ? current : existing }

    /// The abandoned recipient, if there is one.
    var merged: String? { scenario == .unclaimed || scenario == .claimed ? current : nil }

    /// Returns the user's mobile user id after the merge.
    ///
    /// A user who was searched for by the column of the mobile user id gets the value that their recipient has there.
    func survivingMobileUserID(column: String) -> String {
        switch scenario {
        case .claimed: existingMobileUserID
        case .noMatch: fields[column] ?? mobileUserID
        case .itself where fields[column] != nil && !existingMobileUserID.isEmpty: existingMobileUserID
        case .itself, .unclaimed, nil: mobileUserID
        }
    }
}
