/// Joining a grant of consent with the event that follows it.
extension Intake {
    /// Attaches a grant of consent that was noted just before a user's event to that event, which saves a transaction.
    ///
    /// - Parameter entries: The line.
    /// - Returns: The line, in which a noted grant followed by an event of the same user has become part of the event.
    static func joined(_ entries: [Entry]) -> [Entry] {
        if entries.count == 1 { return entries }
        var joined: [Entry] = []
        joined.reserveCapacity(entries.count)
        // Grants that may still be joined, by user, with their positions.
        var grants: [ExactText: Int] = [:]
        var gone: Set<Int> = []
        for var entry in entries {
            if let change = entry.statement.change {
                let user = ExactText(change.userID)
                grants[user] = change.isGranted && entry.isNoted ? joined.count : nil
            } else if !grants.isEmpty, var event = entry.statement.event,
                let place = grants.removeValue(forKey: ExactText(event.envelope.identity.id))
            {
                event.grantsConsent = true
                entry.statement = .event(event)
                entry.answer.whenGiven { [grant = joined[place].answer] in grant.give($0) }
                gone.insert(place)
            } else if case .mark = entry.statement {
                // A mark is answered once everything before it is stored.
                grants = [:]
            }
            joined.append(entry)
        }
        return gone.isEmpty ? joined : joined.indices.filter { !gone.contains($0) }.map { joined[$0] }
    }
}
