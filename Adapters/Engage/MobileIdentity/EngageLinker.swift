import AdapterKit
import Experimentation
import Foundation

/// Merges recipients when the client links an anonymous user to a known one.
///
/// The notes are the ``MergeIntent``. The client stores them after each step, so the first call takes no step at all:
/// the intent must be stored before anything is written. Without criteria, the known user is found by the mobile user
/// id itself.
struct EngageLinker: IdentityLinker {
    let execution: MergeExecution
    /// Admits one change of recipients at a time.
    let turn: AsyncSemaphore
    let merges: MergeWatches

    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
        let configuration = execution.client.connection.configuration
        try configuration.validateMerging()
        try await execution.profile.load()
        guard !progress.notes.isEmpty else { return try begin(progress, configuration) }
        guard let intent = try? JSONDecoder().decode(MergeIntent.self, from: Data(progress.notes)) else {
            throw ExperimentationError(.store, "the notes of the linking can't be read")
        }
        var goesOn = false
        // The watch begins before the turn, which may take a while to come.
        let watch = merges.begin(intent)
        defer { if !goesOn { merges.end(intent) } }
        try await turn.take()
        defer { turn.leave() }
        if intent.step == .setUp { await execution.settleAuditsIfPossible() }
        var next = intent
        do throws(ExperimentationError) {
            next = try await execution.take(intent, watch)
            // Done in the same turn: until then, another merge would treat a recipient as the former id's although it
            // no longer is.
            if next.step == .switchIDs { next = try await execution.take(next, watch) }
        } catch {
            if intent.step == .audit, error.code != .cancelled, error.code != .consentDenied {
                // The row is owed by now, and follows with the next merge or start; the linking itself is done.
                next.taken()
                execution.environment.log.log(.warning, "engage.merge", "a row is still owed: \(error.message)")
            } else {
                next = try await replan(intent, watch, after: error)
            }
        }
        var progress = progress
        progress.notes = try JSON.encode(next)
        if next.step == .done {
            progress.to.id = next.survivingMobileUserID(column: configuration.recipients.mobileUserIDColumn)
            progress.isComplete = true
        } else {
            goesOn = true
        }
        return progress
    }

    /// Returns how to continue a merge after the vendor has refused a step for good.
    ///
    /// If the merge is half finished, the step is retried once. Otherwise the recipient that was found may have been
    /// changed or deleted since, so another search makes a new plan.
    ///
    /// - Throws: The error, if it isn't a lasting refusal or the search finds the same as before; what the search
    ///   throws.
    private func replan(
        _ intent: MergeIntent,
        _ watch: UserWatch,
        after error: ExperimentationError
    ) async throws(ExperimentationError) -> MergeIntent {
        guard let fault = error.cause as? XMLAPIFault, fault.isLasting, intent.scenario != nil else { throw error }
        var next = intent
        if intent.isBegun, intent.refusals == nil {
            next.refusals = 1
            return next
        }
        next.step = .search
        next = try await execution.take(next, watch)
        let isSame =
            next.scenario == intent.scenario && next.existing == intent.existing
            && next.existingMobileUserID == intent.existingMobileUserID
        if isSame { throw error }
        execution.environment.log.log(.info, "engage.merge", "the known user was looked for again: \(error.message)")
        return next
    }

    private func begin(
        _ progress: LinkProgress,
        _ configuration: EngageConfiguration
    ) throws(ExperimentationError) -> LinkProgress {
        var progress = progress
        let column = configuration.recipients.mobileUserIDColumn
        let fields = progress.criteria.isEmpty ? [column: progress.to.id] : progress.criteria
        guard !fields.keys.contains(""), !progress.from.id.isEmpty,
            progress.criteria.isEmpty == false || !progress.to.id.isEmpty
        else { throw ExperimentationError(.invalidArgument, "linking needs two ids, or columns and values") }
        let intent = MergeIntent(id: execution.environment.makeID(), fields: fields, mobileUserID: progress.from.id)
        progress.notes = try JSON.encode(intent)
        merges.begin(intent)
        return progress
    }
}
