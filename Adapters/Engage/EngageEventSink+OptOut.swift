import Experimentation

extension EngageEventSink {
    /// Opts out the recipients of users who withdrew consent, one after the other.
    func optOut(_ envelopes: [Envelope]) async -> DeliveryReport {
        var report = DeliveryReport(noAnswerTo: envelopes.count)
        for (place, envelope) in envelopes.enumerated() { report[place] = await optOut(envelope) }
        return report
    }

    /// Returns the recipient of a user who withdrew consent.
    ///
    /// Usually the denial has removed it here, so the vendor is asked.
    private func recipient(
        of mobileUserID: String,
        _ client: XMLAPIClient
    ) async throws(ExperimentationError) -> String? {
        let known = profile.recipientID(of: mobileUserID)
        if !known.isEmpty { return known }
        let column = connection.configuration.recipients.mobileUserIDColumn
        let list = connection.configuration.listID
        let found = try await client.send(.selectRecipientData(columns: [column: mobileUserID], list: list))
        if found.isSuccess {
            guard let recipient = found.recipientID else { throw EngageErrors.emptyRecipient }
            return recipient
        }
        if found.errorCode == .recipientNotListMember { return nil }
        throw EngageErrors.error(found, of: .selectRecipientData)
    }

    /// Opts out the recipient of a user who withdrew consent.
    private func optOut(_ envelope: Envelope) async -> Verdict {
        do throws(ExperimentationError) {
            try await profile.load()
            let client = XMLAPIClient(connection: connection)
            guard let recipient = try await recipient(of: envelope.identity.id, client) else {
                return .rejected("the user is no recipient")
            }
            try await client.perform(.optOut(recipientID: recipient, list: connection.configuration.listID))
            return .delivered
        } catch {
            return EngageErrors.verdict(onOptOut: error)
        }
    }
}
