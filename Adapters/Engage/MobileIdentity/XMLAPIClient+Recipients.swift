import Experimentation

extension XMLAPIClient {
    /// Finds the oldest recipient that has all of these values.
    ///
    /// - Returns: The recipient's id, and the mobile user id, which may be empty; `nil` if there is no such recipient.
    /// - Throws: What ``send(_:)`` throws; any other fault, or an error if a success names no recipient.
    func recipient(
        with values: XMLAPIFields
    ) async throws(ExperimentationError) -> (id: String, mobileUserID: String)? {
        let configuration = connection.configuration
        let result: XMLAPIResult
        do throws(ExperimentationError) {
            result = try await perform(.selectRecipientData(columns: values, list: configuration.listID))
        } catch  where (error.cause as? XMLAPIFault)?.code == .recipientNotListMember {
            return nil
        }
        guard let id = result.recipientID else { throw EngageErrors.emptyRecipient }
        return (id, result.column(configuration.recipients.mobileUserIDColumn) ?? "")
    }

    /// Gives a mobile user id its recipient, and returns the recipient's id.
    ///
    /// That is the known recipient that lacks a mobile user id or, if none is known, one that is added unless a search
    /// finds it first.
    ///
    /// - Throws: What ``perform(_:)`` throws, or an error if a success names no recipient.
    func setUp(_ mobileUserID: String, known: String, afterSearch: Bool) async throws(ExperimentationError) -> String {
        let list = connection.configuration.listID
        let column = connection.configuration.recipients.mobileUserIDColumn
        guard known.isEmpty else {
            let update = XMLAPI.updateRecipient(id: known, list: list, columns: [column: mobileUserID])
            return try await perform(update).recipientID ?? known
        }
        if afterSearch, let found = try await recipient(with: [column: mobileUserID]) { return found.id }
        let addition = XMLAPI.addRecipient(mobileUserIDColumn: column, id: mobileUserID, list: list)
        guard let id = try await perform(addition).recipientID else { throw EngageErrors.emptyRecipient }
        return id
    }
}
