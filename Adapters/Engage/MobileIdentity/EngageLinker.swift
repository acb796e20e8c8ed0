import Experimentation
import Foundation

/// Merges recipients when the client links an anonymous user to a known one.
///
/// The notes are the ``MergeIntent``. The client stores them after each step, so the first call takes no step at all:
/// the intent must be stored before anything is written. Without criteria the known user is found by the mobile user id
/// itself.
struct EngageLinker: IdentityLinker {
    let execution: MergeExecution
    let line: EngageCallLine

    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
        let configuration = execution.client.connection.configuration
        try configuration.validateMerging()
        try await execution.profile.load()
        guard !progress.notes.isEmpty else { return try begin(progress, configuration) }
        guard let intent = try? JSONDecoder().decode(MergeIntent.self, from: Data(progress.notes)) else {
            throw ExperimentationError(.store, "the notes of the linking can't be read")
        }
        try await line.enter()
        defer { line.leave() }
        if intent.step == .setUp { await execution.settleAuditsIfPossible() }
        var next = intent
        do throws(ExperimentationError) {
            next = try await execution.take(intent)
        } catch {
            // By then the row is owed, and follows with the next merge or start: the linking itself is done.
            guard intent.step == .audit, error.code != .cancelled else { throw error }
            next.taken()
            execution.environment.log.log(.warning, "engage.merge", "a row is still owed: \(error.message)")
        }
        var progress = progress
        progress.notes = try Self.notes(next)
        if next.step == .done {
            progress.to.id = next.survivingMobileUserID(column: configuration.recipients.mobileUserIDColumn)
            progress.isComplete = true
        }
        return progress
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
        progress.notes = try Self.notes(intent)
        return progress
    }

    private static func notes(_ intent: MergeIntent) throws(ExperimentationError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(intent) else {
            throw ExperimentationError(.store, "the notes of the linking can't be written")
        }
        return Array(data)
    }
}
