import Experimentation

/// Gives this installation a mobile user id, and a recipient with it.
///
/// Only one runs at a time, but the user may be removed while the vendor is asked: a denial of consent doesn't wait.
struct RecipientSetup: Sendable {
    let client: XMLAPIClient
    let profile: EngageProfile
    let environment: ClientEnvironment

    private var configuration: EngageConfiguration { client.connection.configuration }

    /// Ensures that there is a mobile user id, and notes that its recipient is wanted.
    func prepare() async throws(ExperimentationError) -> String {
        try configuration.validateRecipients()
        try await profile.load()
        return try await ensureID { record in
            if record.recipientID.isEmpty { record.isWanted = true }
        }.mobileUserID
    }

    /// Ensures that there are a mobile user id and its recipient.
    ///
    /// - Returns: The ids of both.
    /// - Throws: ``EngageErrors/forgotten`` if the user was removed meanwhile; what the XML interface throws.
    func complete() async throws(ExperimentationError) -> (recipientID: String, mobileUserID: String) {
        try configuration.validateRecipients()
        try await profile.load()
        let record = profile.record
        if !record.recipientID.isEmpty, !record.mobileUserID.isEmpty, record.addUnderWay == nil {
            return (record.recipientID, record.mobileUserID)
        }
        let before = try await ensureID { record in
            // The next attempt must know that an answer may have been lost.
            record.addUnderWay = record.mobileUserID
            record.isWanted = true
        }
        let mobileUserID = before.mobileUserID
        let recipientID: String
        do throws(ExperimentationError) {
            let isRepeated = before.addUnderWay == mobileUserID
            recipientID = try await register(mobileUserID, known: before.recipientID, isRepeated: isRepeated)
        } catch {
            // A fault says that nothing was added now, but one of the search says nothing of an earlier attempt. After
            // any other failure, the recipient may exist.
            if (error.cause as? XMLAPIFault)?.operation == .addRecipient {
                try await profile.update { if $0.addUnderWay == mobileUserID { $0.addUnderWay = nil } }
            }
            throw error
        }
        let isKept = try await profile.update { record in
            guard record.isOwn(mobileUserID) else { return false }
            record.recipientID = recipientID
            record.addUnderWay = nil
            record.isWanted = false
            return true
        }
        guard isKept else { throw EngageErrors.forgotten }
        return (recipientID, mobileUserID)
    }

    /// Ensures that there is a mobile user id, and changes the state together with it.
    ///
    /// - Returns: The state before the change, but with the id.
    private func ensureID(
        _ change: @Sendable (inout EngageRecord) -> Void
    ) async throws(ExperimentationError) -> EngageRecord {
        while true {
            let known = profile.record.mobileUserID
            let id = known.isEmpty ? try makeID() : known
            let before = try await profile.update { record -> EngageRecord? in
                // Not if the user was removed since: that would bring them back.
                guard record.isOwn(known) else { return nil }
                record.mobileUserID = id
                let before = record
                change(&record)
                return before
            }
            if let before { return before }
        }
    }

    private func makeID() throws(ExperimentationError) -> String {
        guard configuration.recipients.autoAnonymous else {
            throw ExperimentationError(
                .configuration,
                "there is no mobile user id, and recipients.autoAnonymous doesn't allow to make one"
            )
        }
        let id = configuration.recipients.makeID?() ?? ""
        return id.isEmpty ? environment.makeID() : id
    }

    private func register(
        _ mobileUserID: String,
        known: String,
        isRepeated: Bool
    ) async throws(ExperimentationError) -> String {
        let list = configuration.listID
        let column = configuration.recipients.mobileUserIDColumn
        if !known.isEmpty {
            let columns: XMLAPIFields = [column: mobileUserID]
            let result = try await client.perform(.updateRecipient(id: known, list: list, columns: columns))
            return result.recipientID ?? known
        }
        if isRepeated {
            let found = try await client.send(.selectRecipientData(columns: [column: mobileUserID], list: list))
            if found.isSuccess, let recipient = found.recipientID { return recipient }
            guard found.errorCode == .recipientNotListMember else {
                throw EngageErrors.error(found, of: .selectRecipientData)
            }
        }
        let added = try await client.perform(.addRecipient(mobileUserIDColumn: column, id: mobileUserID, list: list))
        guard let recipient = added.recipientID else { throw EngageErrors.emptyRecipient }
        return recipient
    }
}
