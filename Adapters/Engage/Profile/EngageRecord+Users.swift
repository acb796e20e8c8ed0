import Experimentation
import Foundation

/// Changes of this installation's own user, and the removal of users.
extension EngageRecord {
    /// Makes a user this installation's own.
    ///
    /// Everything without a user becomes theirs. A former user's recipient stays known as that user's, because that
    /// user's events may still wait.
    mutating func become(_ userID: String) {
        guard !isOwn(userID) else { return }
        let former = self
        mobileUserID = userID
        guard !former.mobileUserID.isEmpty else { return }
        campaigns.give(to: former.mobileUserID) { $0.users.isEmpty }
        anonymousID = ""
        recipientID = former.recipient(of: userID)
        // The user may have been here before, and an answer about them may have been lost.
        mayHaveRecipient = recipientID.isEmpty
        if !recipientID.isEmpty { isWanted = false }
        if !former.recipientID.isEmpty { note(recipient: former.recipientID, of: former.mobileUserID) }
    }

    // MARK: Campaigns

    /// Returns the campaigns that brought a user.
    func campaigns(of userID: String) -> CampaignShelf {
        var own = campaigns
        own.entries.removeAll { !isCampaign($0, of: userID) }
        return own
    }

    /// Gives a user the campaigns of another, who is the same person.
    mutating func shareCampaigns(of userID: String, with other: String) {
        let record = self
        campaigns.give(to: other) { record.isCampaign($0, of: userID) }
    }

    /// Whether a campaign brought a user; one without a user brought the record's own user, or the next one if it has
    /// none.
    private func isCampaign(_ campaign: CampaignShelf.Entry, of userID: String) -> Bool {
        guard campaign.users.isEmpty else { return campaign.isOf(userID) }
        return mobileUserID.isEmpty || isOwn(userID)
    }

    // MARK: Removal

    /// The record without any user: the application's installation and its token, and who denied consent.
    private var withoutUsers: EngageRecord {
        var rest = EngageRecord()
        rest.isInstalled = isInstalled
        rest.hasLocationColumns = hasLocationColumns
        rest.refreshToken = refreshToken
        rest.refreshTokenOrigin = refreshTokenOrigin
        rest.hasTakenOver = hasTakenOver
        rest.denials = denials
        rest.awaited = awaited
        return rest
    }

    /// Removes all users.
    mutating func clear(at now: Date) {
        self = withoutUsers
        campaigns = CampaignShelf(emptied: now)
    }

    /// Removes a user, under every id from which they were merged, as far as those ids are still known.
    mutating func forget(_ userID: String) {
        let person = person(userID)
        for id in person.ids {
            if let place = place(of: id.text, in: others) { others.remove(at: place) }
        }
        forgetHandedOn(of: person)
        audits.removeAll { person.owns($0) }
        campaigns.entries.removeAll { campaign in person.ids.contains { campaign.isOf($0.text) } }
        if let merge, person.owns(merge) { self.merge = nil }
        if let user = session.userID, person.ids.contains(ExactText(user)) { session = SessionClock() }
        guard isOwn(userID) else { return }
        campaigns.entries.removeAll { $0.users.isEmpty }
        var rest = withoutUsers
        if session.userID != nil { rest.session = session }
        rest.others = others
        rest.handedOn = handedOn
        rest.audits = audits
        rest.campaigns = campaigns
        rest.merge = merge
        self = rest
    }

    /// Returns the ids and recipients of a user; owed rows and a merge contain the former ones.
    private func person(_ userID: String) -> MergedPerson {
        var person = MergedPerson(id: userID, recipient: recipient(of: userID))
        if let merge { person.add(merge) }
        // The latest row comes first, because its former recipient may be the new one of an earlier row.
        for audit in audits.reversed() { person.add(audit) }
        return person
    }

    // MARK: Consent

    /// Whether a user denied consent while they were the own user, and hasn't consented since.
    ///
    /// An empty id stands for a user whose id is yet to be generated.
    func isDenied(_ userID: String) -> Bool {
        userID.isEmpty ? awaited != nil : denials.contains { $0.isOf(userID) }
    }

    /// Returns the events' users who denied consent, as far as the record knows.
    func denied(among events: [Envelope]) -> [String] {
        denials.isEmpty ? [] : events.map(\.identity.id).filter { !$0.isEmpty && isDenied($0) }
    }

    /// Removes a user who denies consent, and remembers the denial if they are the own user.
    mutating func deny(_ userID: String, salt: String) {
        let isOwn = isOwn(userID)
        forget(userID)
        guard isOwn else { return }
        let mark = UserMark(of: userID, salt: salt)
        denials.removeAll { $0.isOf(userID) }
        denials.append(mark)
        if denials.count > Self.mostDenials { denials.removeFirst() }
        awaited = mark
    }

    /// Ends the own user's denial; without an own user, the denial of the last one who denied.
    mutating func consent() {
        guard mobileUserID.isEmpty else { return consent(of: mobileUserID) }
        let last = awaited
        denials.removeAll { $0 == last }
        awaited = nil
    }

    /// Ends the denial of a user who has consented again, and makes them the own user if there is no other since.
    mutating func consent(of userID: String) {
        guard !userID.isEmpty, isDenied(userID) else { return }
        denials.removeAll { $0.isOf(userID) }
        guard awaited?.isOf(userID) == true else { return }
        awaited = nil
        guard mobileUserID.isEmpty else { return }
        mobileUserID = userID
        isWanted = true
        // The vendor may already have their recipient.
        addUnderWay = userID
    }
}
