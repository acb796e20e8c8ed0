import Experimentation

extension EngageEventSink {
    /// Opts out the recipient of a user who withdrew consent.
    func optOut(_ user: String) async -> Verdict {
        do throws(ExperimentationError) {
            // Waits for its turn, because a recipient that is still being added, in spite of the denial, must be found.
            try await recipients.turn.take()
            defer { recipients.turn.leave() }
            try await profile.load()
            let client = XMLAPIClient(connection: connection)
            var recipient = profile.record.recipient(of: user)
            if recipient.isEmpty {
                // Usually the denial has removed the recipient here, so the vendor is asked.
                let column = connection.configuration.recipients.mobileUserIDColumn
                guard let found = try await client.recipient(with: [column: user]) else {
                    return .rejected("the user is no recipient")
                }
                recipient = found.id
            }
            try await client.perform(.optOut(recipientID: recipient, list: connection.configuration.listID))
            return .delivered
        } catch {
            return EngageErrors.verdict(onOptOut: error)
        }
    }
}
