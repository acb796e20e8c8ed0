import Experimentation

/// The record that a profile stores; the file uses its field names, so fields are only ever added.
struct EngageRecord: Sendable, Hashable, Codable {
    /// The maximum number of other users whose recipients are known.
    static let mostOthers = 10_000
    /// The maximum number of rows owed to the audit table.
    static let mostAudits = 1_000
    /// The maximum number of users whose denials are remembered.
    static let mostDenials = 100

    var mobileUserID = ""
    var recipientID = ""
    var anonymousID = ""
    var deviceID = ""
    /// The mobile user id for which a recipient was last added, or which was last written to one, with unknown outcome.
    var addUnderWay: String?
    /// Recipients of other users, by mobile user id.
    var others: [String: String] = [:]
    /// Recipients that merges have handed on to known users, by the former mobile user id; earliest first.
    var handedOn: [String: [HandedOnRecipient]] = [:]
    /// Whether the mobile user id must get its recipient before its behaviors are posted.
    var isWanted = false
    /// Whether to search for the own user's recipient, if it isn't known, before one is added.
    var mayHaveRecipient = false
    var isInstalled = false
    var hasLocationColumns = false
    var campaigns = CampaignShelf()
    /// The users who denied consent while they were the own user; at most ``mostDenials``, the latest last.
    var denials: [UserMark] = []
    /// The last own user who was removed by a denial: no other id may be generated until that user consents.
    var awaited: UserMark?
    var session = SessionClock()
    /// A merge in progress.
    var merge: MergeIntent?
    /// Rows that the audit table hasn't taken yet, earliest first.
    var audits: [OwedAudit] = []
    /// The refresh token that replaced the configured one, sealed with a digest of the configured one.
    var refreshToken: String?
    var refreshTokenOrigin: String?
    /// Whether the vendor SDK's records were imported; this happens once, whatever is removed later.
    var hasTakenOver = false

    /// Whether an id is the own user's; ids are compared byte by byte, as everywhere.
    func isOwn(_ userID: String) -> Bool { ExactText(userID) == ExactText(mobileUserID) }

    /// Whether the own user has both ids, and the vendor knows both.
    var isComplete: Bool { !mobileUserID.isEmpty && !recipientID.isEmpty && addUnderWay == nil && !isWanted }

    /// Returns a user's recipient; empty if it isn't known.
    func recipient(of userID: String) -> String {
        isOwn(userID) ? recipientID : place(of: userID, in: others).map { others[$0].value } ?? ""
    }

    /// Returns the index of a user's value in a dictionary by user.
    ///
    /// Of several ids that differ only in their Unicode form, a dictionary holds one.
    func place<Value>(of userID: String, in values: [String: Value]) -> Dictionary<String, Value>.Index? {
        guard let place = values.index(forKey: userID), ExactText(values[place].key) == ExactText(userID) else {
            return nil
        }
        return place
    }

    /// Records the recipient that has a user's mobile user id.
    mutating func note(recipient: String, of mobileUserID: String) {
        if isOwn(mobileUserID) {
            recipientID = recipient
            addUnderWay = nil
            isWanted = false
            return
        }
        // Assigning alone would keep a key that is another form of the id.
        others[mobileUserID] = nil
        if others.count >= Self.mostOthers { _ = others.popFirst() }
        others[mobileUserID] = recipient
    }

    /// Records a row owed to the audit table; only once for each key.
    mutating func owe(_ audit: OwedAudit) {
        guard !audits.contains(where: { $0.key == audit.key }) else { return }
        audits.append(audit)
        if audits.count > Self.mostAudits { audits.removeFirst() }
    }
}
