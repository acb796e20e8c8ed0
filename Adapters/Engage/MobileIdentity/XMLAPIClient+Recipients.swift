import Experimentation

extension XMLAPIClient {
    /// Finds the oldest recipient that has all of these values.
    ///
    /// - Returns: The recipient's id, and the mobile user id, which may be empty; `nil` if there is no such recipient.
    /// - Throws: What ``send(_:)`` throws; any other fault, or that a success names no recipient.
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

    /// Gives a mobile user id its recipient: the known one, or else one that is added.
    ///
    /// - Parameters:
    ///   - mobileUserID: The mobile user id.
    ///   - known: The id of the recipient that lacks it; empty if there is none.
    ///   - afterSearch: Whether to look for the recipient before one is added.
    /// - Returns: The recipient's id.
    /// - Throws: What ``perform(_:)`` throws, or that a success names no recipient.
    func setUp(_ mobileUserID: String, known: String, afterSearch: Bool) async throws(ExperimentationError) -> String {
        guard !known.isEmpty else { return try await addRecipient(mobileUserID, afterSearch: afterSearch) }
        let configuration = connection.configuration
        let columns: XMLAPIFields = [configuration.recipients.mobileUserIDColumn: mobileUserID]
        let update = XMLAPI.updateRecipient(id: known, list: configuration.listID, columns: columns)
        return try await perform(update).recipientID ?? known
    }

    /// Adds a recipient with a mobile user id, unless a search finds one first.
    ///
    /// - Returns: The recipient's id.
    private func addRecipient(_ mobileUserID: String, afterSearch: Bool) async throws(ExperimentationError) -> String {
        let configuration = connection.configuration
        let column = configuration.recipients.mobileUserIDColumn
        if afterSearch, let found = try await recipient(with: [column: mobileUserID]) { return found.id }
        let call = XMLAPI.addRecipient(mobileUserIDColumn: column, id: mobileUserID, list: configuration.listID)
        guard let id = try await perform(call).recipientID else { throw EngageErrors.emptyRecipient }
        return id
    }
}
