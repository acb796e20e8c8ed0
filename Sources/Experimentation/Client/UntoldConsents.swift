/// Choices of consent that the vendor hasn't been told of yet, each with its user, who may leave the session before
/// then.
struct UntoldConsents: Sendable {
    private var choices: [ExactText: (identity: Identity, consent: Consent)] = [:]

    /// Notes a user's choice, in place of an earlier one.
    mutating func note(_ consent: Consent, of identity: Identity) {
        choices[ExactText(identity.id)] = (identity, consent)
    }

    /// Notes a choice again because the vendor couldn't be told of it, unless the user has made another choice since.
    mutating func restore(_ consent: Consent, of identity: Identity) {
        let user = ExactText(identity.id)
        if choices[user] == nil { choices[user] = (identity, consent) }
    }

    /// The user's identity as of a choice; `nil` if the vendor was told of it, or another choice has followed.
    func identity(ofUser userID: String, choosing consent: Consent) -> Identity? {
        choices[ExactText(userID)].flatMap { $0.consent == consent ? $0.identity : nil }
    }

    /// Notes that the vendor is being told of a user's choice.
    mutating func end(ofUser userID: String) { choices[ExactText(userID)] = nil }
}
