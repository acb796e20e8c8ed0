import Experimentation
import Foundation

/// A merge of two recipients that is under way: what is wanted, what was found, and which step comes next.
///
/// It is stored before the first write and after each step. Every step writes absolute values, or a row under a key made
/// beforehand, so one that may or may not have been taken is simply taken again. The moment is fixed once, and is the
/// same in the list and in the audit table.
struct MergeIntent: Sendable, Hashable, Codable {
    /// What is done next.
    enum Step: String, Sendable, Hashable, Codable, CaseIterable {
        /// Make sure that the user has a recipient.
        case setUp
        /// Look for a recipient that has the fields.
        case search
        /// Write the fields to the user's own recipient, because no recipient has them.
        case updateCurrent
        /// Write the mobile user id to the user's own recipient, which was found but has none.
        case claimCurrent
        /// Write the mobile user id to the recipient that was found.
        case claimExisting
        /// Write the history to the recipient that is given up, and take the mobile user id from it where it moves.
        case releaseCurrent
        /// Go by the other recipient from now on.
        case switchIDs
        /// Write the merge to the audit table.
        case audit
        /// Nothing.
        case done
    }

    /// How the search came out.
    enum Scenario: String, Sendable, Hashable, Codable {
        /// No recipient has the fields.
        case noMatch
        /// The user's own recipient has them.
        case itself
        /// Another recipient has them, and no mobile user id.
        case unclaimed
        /// Another recipient has them, and a mobile user id of its own.
        case claimed
    }

    /// Names this merge.
    var id: String
    /// Columns and values that tell the known user.
    var fields: [String: String]
    /// The mobile user id of the user so far.
    var mobileUserID: String
    /// The recipient so far; empty until ``Step/setUp``.
    var current = ""
    /// The recipient that was found.
    var existing = ""
    /// The mobile user id of the recipient that was found; empty if it has none.
    var existingMobileUserID = ""
    var scenario: Scenario?
    /// The moment of the merge, fixed when the search came out.
    var moment: Date?
    /// The key of the row in the audit table, made before it is written.
    var auditKey = ""
    /// Whether history goes into the list; fixed with the plan.
    var writesHistory = false
    /// Whether history goes into the audit table; fixed with the plan.
    var writesAudit = false
    var step = Step.setUp
    /// How often the vendor has refused a step.
    var refusals: Int?

    init(id: String, fields: [String: String], mobileUserID: String) {
        self.id = id
        self.fields = fields
        self.mobileUserID = mobileUserID
    }

    /// What is known now of the user's own recipient.
    mutating func hasCurrent(_ recipient: String) {
        current = recipient
        step = .search
    }

    /// Takes note of how the search came out, and plans the rest.
    ///
    /// `existing` is the recipient that has the fields, with its mobile user id; `nil` if there is none.
    mutating func found(
        _ existing: (recipient: String, mobileUserID: String)?,
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
        self.existing = existing.recipient
        existingMobileUserID = existing.mobileUserID
        if existing.recipient == current {
            scenario = .itself
            step = existing.mobileUserID.isEmpty ? .claimCurrent : .switchIDs
        } else if existing.mobileUserID.isEmpty {
            scenario = .unclaimed
            step = .claimExisting
        } else {
            scenario = .claimed
            // Without history there is nothing to write: the reference sends an update without columns.
            step = writesHistory ? .releaseCurrent : .switchIDs
        }
    }

    /// Takes note that the present step was taken.
    mutating func taken() {
        step =
            switch (step, scenario) {
            case (.setUp, _): .search
            case (.updateCurrent, _), (.claimCurrent, _): .switchIDs
            case (.claimExisting, _): .releaseCurrent
            case (.releaseCurrent, _): .switchIDs
            case (.switchIDs, .unclaimed), (.switchIDs, .claimed): writesAudit ? .audit : .done
            case (.switchIDs, _), (.audit, _), (.done, _): .done
            case (.search, _): .search
            }
    }

    /// How often the vendor may refuse a merge that is half done before it is given up.
    static let mostRefusals = 3

    /// Whether the vendor has been told of the merge, so that it is half done.
    var isBegun: Bool {
        switch step {
        case .releaseCurrent: scenario == .unclaimed
        case .switchIDs, .audit, .done: true
        case .setUp, .search, .updateCurrent, .claimCurrent, .claimExisting: false
        }
    }

    /// Takes note that the present step wasn't taken.
    ///
    /// - Parameters:
    ///   - fault: What the vendor answered; `nil` if it isn't known whether it took the step.
    ///   - isResumed: Whether the merge had been interrupted before.
    /// - Returns: Whether the merge is worth taking up again. One that the vendor refused before anything was written isn't:
    ///   the same check begins it anew; nor is one that is refused once more for a reason that lasts.
    mutating func failed(_ fault: XMLAPIFault?, isResumed: Bool) -> Bool {
        if step == .search { return false }
        guard let fault else { return true }
        guard isBegun else { return false }
        refusals = (refusals ?? 0) + 1
        return !(fault.isLasting && isResumed) && (refusals ?? 0) < Self.mostRefusals
    }

    /// The recipient that the user has after the merge.
    var survivor: String {
        switch scenario {
        case .unclaimed, .claimed: existing
        default: current
        }
    }

    /// The recipient that is given up, if one is.
    var merged: String? {
        switch scenario {
        case .unclaimed, .claimed: current
        default: nil
        }
    }

    /// The mobile user id that the user has after the merge.
    ///
    /// A user who was looked for by the column of the mobile user id, and not found, is known by that value from now on.
    func survivingMobileUserID(column: String) -> String {
        switch scenario {
        case .claimed: existingMobileUserID
        case .noMatch: fields[column] ?? mobileUserID
        case .itself: existingMobileUserID.isEmpty ? mobileUserID : existingMobileUserID
        case .unclaimed, nil: mobileUserID
        }
    }
}
