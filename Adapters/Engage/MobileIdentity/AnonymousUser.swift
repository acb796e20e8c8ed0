import Experimentation

/// The vendor's older identity calls, with their own wire format.
///
/// The vendor has deprecated them; ``MobileIdentity/setupRecipient()`` and ``MobileIdentity/checkIdentity(_:)`` replace
/// them.
public struct AnonymousUser: Sendable {
    let client: XMLAPIClient
    let profile: EngageProfile

    /// Adds an empty recipient, and stores its id as the anonymous id.
    ///
    /// Replaced by ``MobileIdentity/setupRecipient()``.
    ///
    /// - Returns: The vendor's answer, including a fault.
    /// - Throws: What the interface throws; `ErrorCode.consentDenied` if the user denied consent before the vendor
    ///   answered.
    @discardableResult
    public func create(list: String) async throws(ExperimentationError) -> XMLAPIResult {
        try await profile.load()
        let watch = profile.watches.watch([.ownUser, ExactText(profile.mobileUserID)])
        if profile.isConsentDenied { throw EngageErrors.denied }
        let result = try await client.only { !watch.has(.removed) }.send(.addAnonymousRecipient(list: list))
        guard result.isSuccess, let id = result.recipientID else { return result }
        let isKept = try await profile.update(unlessRemoved: watch) { $0.anonymousID = id }
        guard isKept else { throw EngageErrors.forgotten }
        return result
    }

    /// Writes a known user's id to the anonymous recipient, and then to the known one.
    ///
    /// Replaced by ``MobileIdentity/checkIdentity(_:)``.
    ///
    /// The id is stored as the mobile user id at once, as in the reference.
    ///
    /// - Parameters:
    ///   - userID: The known user's id.
    ///   - list: The list.
    ///   - primaryColumn: The column by which the known user is found.
    ///   - mergeColumn: The column that receives the id in both.
    /// - Returns: The last answer, or the first fault.
    /// - Throws: `ErrorCode.invalidArgument` if there is no anonymous id or no user's id; `ErrorCode.consentDenied` if
    ///   the user denied consent, under the new id or the former one, before the last call was sent; what the interface
    ///   throws.
    @discardableResult
    public func updateToPrimaryUser(
        _ userID: String,
        list: String,
        primaryColumn: String,
        mergeColumn: String
    ) async throws(ExperimentationError) -> XMLAPIResult {
        try await profile.load()
        guard !userID.isEmpty else { throw ExperimentationError(.invalidArgument, "the user's id is empty") }
        let watch = profile.watches.watch([ExactText(profile.mobileUserID), ExactText(userID)])
        let anonymous = profile.anonymousID
        guard !anonymous.isEmpty else {
            throw ExperimentationError(.invalidArgument, "there is no anonymous recipient; create one first")
        }
        if profile.isConsentDenied || profile.record.isDenied(userID) { throw EngageErrors.denied }
        let client = client.only { !watch.has(.removed) }
        try await profile.update { record in
            let former = record.mobileUserID
            record.become(userID)
            // Both ids belong to the same person.
            record.anonymousID = anonymous
            if !former.isEmpty { record.shareCampaigns(of: former, with: userID) }
        }
        let merged = try await client.send(
            .updateRecipient(id: anonymous, list: list, columns: [mergeColumn: userID])
        )
        guard merged.isSuccess else { return merged }
        return try await client.send(
            XMLAPI(
                .updateRecipient,
                ["LIST_ID": list],
                columns: [mergeColumn: userID],
                syncFields: [primaryColumn: userID]
            )
        )
    }
}
