import Experimentation
import Foundation

/// Recipients that merges have given to known users.
extension EngageRecord {
    /// Returns the recipient that a user's event names; empty if it isn't known.
    func recipient(of userID: String, at date: Date) -> String {
        let former = place(of: userID, in: handedOn).map { handedOn[$0].value } ?? []
        return former.first { date <= $0.date }?.recipient ?? recipient(of: userID)
    }

    /// Records that a former id's recipient is a known user's from now on; only once, even if the merge is repeated.
    mutating func handOn(_ recipient: String, from userID: String, at date: Date) {
        if let place = place(of: userID, in: others) { others.remove(at: place) }
        var former = place(of: userID, in: handedOn).map { handedOn[$0].value } ?? []
        if former.last?.recipient == recipient { return }
        former.append(HandedOnRecipient(recipient: recipient, date: date))
        handedOn[userID] = nil
        if handedOn.count >= Self.mostOthers { _ = handedOn.popFirst() }
        handedOn[userID] = former.suffix(HandedOnRecipient.mostOfOneID)
    }

    /// Removes the recipients handed on from or to a user.
    mutating func forgetHandedOn(of person: MergedPerson) {
        for id in person.ids {
            if let place = place(of: id.text, in: handedOn) { handedOn.remove(at: place) }
        }
        handedOn = handedOn.compactMapValues { former in
            let kept = former.filter { !person.recipients.contains($0.recipient) }
            return kept.isEmpty ? nil : kept
        }
    }
}
