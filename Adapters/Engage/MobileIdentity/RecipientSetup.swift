import Experimentation

/// Gives this installation a mobile user id, and a recipient with it.
///
/// Only one setup runs at a time, but the user may be removed while the vendor is asked: a denial of consent doesn't
/// wait.
struct RecipientSetup: Sendable {
    let client: XMLAPIClient
    let profile: EngageProfile
    let environment: ClientEnvironment

    private var configuration: EngageConfiguration { client.connection.configuration }

    /// Ensures that there is a mobile user id, and notes that its recipient is wanted.
    ///
    /// - Throws: As ``ensureID(_:)``.
    func prepare() async throws(ExperimentationError) -> String {
        try configuration.validateRecipients()
        try await profile.load()
        return try await ensureID { record, isNew in
            // If both ids are known from now on, the vendor must be told of the new one.
            if record.recipientID.isEmpty || isNew { record.isWanted = true }
        }.mobileUserID
    }

    /// Ensures that there are a mobile user id and its recipient.
    ///
    /// - Returns: The ids of both.
    /// - Throws: ``EngageErrors/forgotten`` if the user was removed meanwhile; what the XML interface throws.
    func complete() async throws(ExperimentationError) -> (recipientID: String, mobileUserID: String) {
        try configuration.validateRecipients()
        try await profile.load()
        let own = profile.watches.watch([.ownUser])
        let user = profile.watches.watch([])
        let record = profile.record
        if record.isComplete, !record.isDenied(record.mobileUserID) { return (record.recipientID, record.mobileUserID) }
        let before = try await ensureID { record, _ in
            // Watched at once, because the user may be removed while this is being stored.
            user.add([ExactText(record.mobileUserID)])
            // The next attempt must know that an answer may have been lost.
            record.addUnderWay = record.mobileUserID
            record.isWanted = true
        }
        let mobileUserID = before.mobileUserID
        let recipientID: String
        // Noted whatever the answer, because it may be lost.
        defer { profile.watches.note(.overtaken, of: [ExactText(mobileUserID)]) }
        do throws(ExperimentationError) {
            let isRepeated = before.addUnderWay == mobileUserID || before.mayHaveRecipient
            let client = client.only { !own.has(.removed) && !user.has(.removed) }
            recipientID = try await client.setUp(mobileUserID, known: before.recipientID, afterSearch: isRepeated)
        } catch {
            let isLeft = !profile.record.isOwn(mobileUserID) && !own.has(.removed)
            if error == EngageErrors.forgotten, isLeft { return try await complete() }
            // A refusal to add means that nothing was added. A refused search says nothing about an earlier attempt,
            // and after the vendor's own failure, as after any other, the recipient may exist.
            if let fault = error.cause as? XMLAPIFault, fault.operation == .addRecipient, fault.isLasting {
                try await profile.update { if $0.addUnderWay == mobileUserID { $0.addUnderWay = nil } }
            }
            throw error
        }
        let isOwn = try await profile.update { record in
            guard record.isOwn(mobileUserID) else { return false }
            record.note(recipient: recipientID, of: mobileUserID)
            return true
        }
        if isOwn { return (recipientID, mobileUserID) }
        if own.has(.removed) { throw EngageErrors.forgotten }
        // The application has stored another mobile user id meanwhile; events of the former one may still wait.
        try await profile.update(unlessRemoved: user) { $0.note(recipient: recipientID, of: mobileUserID) }
        return try await complete()
    }

    /// Ensures that there is a mobile user id, and changes the state together with it.
    ///
    /// - Parameter change: Changes a state that has the id; receives whether the id is new.
    /// - Returns: The state before the change, but with the id.
    /// - Throws: `ErrorCode.configuration` if there is no id and none may be generated; ``EngageErrors/denied`` if the
    ///   user has denied consent; `ErrorCode.store`.
    private func ensureID(
        _ change: @Sendable (inout EngageRecord, _ isNew: Bool) -> Void
    ) async throws(ExperimentationError) -> EngageRecord {
        while true {
            let known = profile.record.mobileUserID
            if profile.record.isDenied(known) { throw EngageErrors.denied }
            let id = known.isEmpty ? try makeID() : known
            let before = try await profile.update { record -> EngageRecord? in
                // Changes nothing if the user was removed since: that would bring them back.
                guard record.isOwn(known), !record.isDenied(known) else { return nil }
                record.mobileUserID = id
                let before = record
                change(&record, known.isEmpty)
                return before
            }
            if let before { return before }
        }
    }

    private func makeID() throws(ExperimentationError) -> String {
        guard configuration.recipients.autoAnonymous else {
            throw ExperimentationError(
                .configuration,
                "there is no mobile user id, and recipients.autoAnonymous doesn't allow making one"
            )
        }
        let id = configuration.recipients.makeID?() ?? ""
        return id.isEmpty ? environment.makeID() : id
    }
}
