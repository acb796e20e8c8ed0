import Experimentation
import Foundation

/// Takes the steps of merges: each is one exchange with the vendor, or a change of the local state.
struct MergeExecution: Sendable {
    let client: XMLAPIClient
    let profile: EngageProfile
    let environment: ClientEnvironment

    private var configuration: EngageConfiguration { client.connection.configuration }
    private var recipients: EngageConfiguration.Recipients { configuration.recipients }

    /// Takes the next step of a merge that is already stored and whose users are watched.
    ///
    /// - Returns: The merge after the step, to be stored.
    /// - Throws: Why the step failed, or that its outcome is unknown; the step may be repeated.
    ///   ``EngageErrors/forgotten`` if a user was removed since the watch began, whatever the outcome.
    func take(_ intent: MergeIntent, _ watch: UserWatch) async throws(ExperimentationError) -> MergeIntent {
        do throws(ExperimentationError) {
            if !watch.has(.removed) {
                // The merge needs a new plan, unless something was written.
                if watch.take(.overtaken), !intent.isBegun, intent.step != .setUp { return intent.begunAnew }
                let next = try await step(of: intent, watch)
                if intent.step.isWrite { profile.watches.note(.overtaken, of: intent.users, by: watch) }
                // The answer may name another user.
                watch.add(next.users)
                if !watch.has(.removed) { return next }
            }
        } catch {
            if !watch.has(.removed) { throw error }
        }
        throw EngageErrors.forgotten
    }

    private func step(
        of intent: MergeIntent,
        _ watch: UserWatch
    ) async throws(ExperimentationError) -> MergeIntent {
        let client = client.only { !watch.has(.removed) }
        func write(_ columns: XMLAPIFields, to recipient: String) async throws(ExperimentationError) {
            try await client.perform(.updateRecipient(id: recipient, list: configuration.listID, columns: columns))
        }
        let column = recipients.mobileUserIDColumn
        var next = intent
        switch intent.step {
        case .setUp:
            next.hasCurrent(try await recipient(for: intent, by: client, watch))
            return next
        case .search:
            next.found(
                try await client.recipient(with: XMLAPIFields(intent.fields)),
                moment: environment.time.now,
                auditKey: auditKey(),
                writesHistory: recipients.historyInList,
                writesAudit: recipients.audit != nil
            )
            return next
        case .updateCurrent: try await write(XMLAPIFields(intent.fields), to: intent.current)
        case .claimCurrent: try await write([column: intent.mobileUserID], to: intent.current)
        case .claimExisting: try await write([column: intent.mobileUserID], to: intent.existing)
        case .releaseCurrent:
            var columns = XMLAPIFields()
            if intent.scenario == .unclaimed { columns[column] = "" }
            if intent.writesHistory, let moment = intent.moment {
                columns[recipients.mergedDateColumn] = EngageTimestamp.merge(moment)
                columns[recipients.mergedRecipientIDColumn] = intent.existing
            }
            try await write(columns, to: intent.current)
        case .switchIDs: try await switchIDs(intent, watch)
        case .audit: try await audit(intent, watch)
        case .done: break
        }
        next.taken()
        return next
    }

    /// Returns the id of the user's recipient.
    ///
    /// Creates the recipient if there is none, and writes the mobile user id to it if it lacks one.
    ///
    /// This may be repeated, whatever its earlier outcome.
    private func recipient(
        for intent: MergeIntent,
        by client: XMLAPIClient,
        _ watch: UserWatch
    ) async throws(ExperimentationError) -> String {
        let mobileUserID = intent.mobileUserID
        let record = profile.record
        let known = record.recipient(of: mobileUserID)
        let isKnown = record.isOwn(mobileUserID) ? record.isComplete : !known.isEmpty
        if isKnown { return known }
        let recipient = try await client.setUp(mobileUserID, known: known, afterSearch: true)
        profile.watches.note(.overtaken, of: [ExactText(mobileUserID)], by: watch)
        try await profile.update(unlessRemoved: watch) { $0.note(recipient: recipient, of: mobileUserID) }
        return recipient
    }

    /// Changes both ids in one write.
    private func switchIDs(_ intent: MergeIntent, _ watch: UserWatch) async throws(ExperimentationError) {
        let after = intent.survivingMobileUserID(column: recipients.mobileUserIDColumn)
        let now = environment.time.now
        try await profile.update(unlessRemoved: watch) { record in
            record.shareCampaigns(of: intent.mobileUserID, with: after)
            if record.isOwn(intent.mobileUserID) || record.isOwn(after) {
                record.mobileUserID = after
                record.recipientID = intent.survivor
                record.addUnderWay = nil
            } else {
                record.note(recipient: intent.survivor, of: after)
            }
            if ExactText(after) == ExactText(intent.mobileUserID) { return }
            if intent.survivor == intent.current {
                record.handOn(intent.current, from: intent.mobileUserID, at: now)
            } else {
                // Waiting events of the earlier id belong to the recipient that still has it.
                record.note(recipient: intent.current, of: intent.mobileUserID)
            }
        }
    }

    /// Records the row for the audit table as owed before writing it: if the write fails, the merge is still done.
    private func audit(_ intent: MergeIntent, _ watch: UserWatch) async throws(ExperimentationError) {
        guard recipients.audit != nil, let audit = OwedAudit(intent) else { return }
        try await profile.update(unlessRemoved: watch) { $0.owe(audit) }
        try await settleAudits(demanding: audit.key)
    }

    /// Writes the rows owed to the audit table; those that it doesn't take stay owed.
    ///
    /// - Parameter key: The row that must be taken; any if `nil`.
    /// - Throws: What the XML interface throws, or that a row wasn't taken.
    func settleAudits(demanding key: String? = nil) async throws(ExperimentationError) {
        let owed = profile.record.audits
        guard let table = recipients.audit, !owed.isEmpty else { return }
        let client = client.only { [profile] in Set(owed).isSubset(of: profile.record.audits) }
        let failures: [XMLAPIRowFailure]
        do throws(ExperimentationError) {
            failures = try await client.insertUpdate(rows: owed.map { $0.row(in: table) }, table: table.tableID)
        } catch  where error == EngageErrors.forgotten {
            // Only other users' rows are left.
            return try await settleAudits(demanding: key)
        }
        // A failure that names no row may concern any of them.
        let refused = failures.map { $0.columns[table.keyColumn] ?? "" }
        let taken = refused.contains("") ? [] : Set(owed.map(\.key)).subtracting(refused)
        try await profile.update { $0.audits.removeAll { taken.contains($0.key) } }
        guard let failure = failures.first(where: { _ in key.map { !taken.contains($0) } ?? true }) else { return }
        throw ExperimentationError(.vendorFault, "the audit table didn't take the row", cause: failure)
    }

    /// Writes the rows owed to the audit table, if it accepts them now.
    func settleAuditsIfPossible() async {
        do throws(ExperimentationError) {
            try await settleAudits()
        } catch {
            environment.log.log(.warning, "engage.merge", "rows are still owed to the audit table: \(error.message)")
        }
    }

    private func auditKey() -> String {
        let key = recipients.audit?.makeKey?() ?? ""
        return key.isEmpty ? environment.makeID() : key
    }
}

extension EngageErrors {
    /// The error for an answer that reports success but names no recipient.
    static let emptyRecipient = ExperimentationError(
        .vendorFault,
        "the vendor answered a success without a recipient's id"
    )

    /// The error for an answer that came after its user was removed.
    static let forgotten = ExperimentationError(
        .consentDenied,
        "the user was removed before the vendor answered"
    )

    /// The error for a check of a user whom another user has replaced.
    static let followed = ExperimentationError(
        .invalidArgument,
        "another mobile user id was stored meanwhile: the columns are its former user's"
    )

    /// The error for a call about a user who has denied consent.
    static let denied = ExperimentationError(
        .consentDenied,
        "the user has denied consent; the vendor isn't told of them"
    )
}
