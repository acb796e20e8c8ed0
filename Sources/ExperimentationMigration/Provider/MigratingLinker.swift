import Experimentation
import Foundation

/// Links a user at both vendors, one after the other where both take steps of their own.
struct MigratingLinker: IdentityLinker {
    let linkers: [any IdentityLinker]

    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
        var notes = Notes(progress.notes)
        guard linkers.indices.contains(notes.done) else { return finished(progress, notes) }
        var own = progress
        own.notes = notes.own
        own.isComplete = false
        let next = try await linkers[notes.done].advance(own)
        notes.own = next.isComplete ? [] : next.notes
        if next.isComplete { notes.done += 1 }
        var result = progress
        // The vendor that is left names the ids that survive; the other one is told.
        if notes.done <= 1 { result.to = next.to }
        return finished(result, notes)
    }

    private func finished(_ progress: LinkProgress, _ notes: Notes) -> LinkProgress {
        var progress = progress
        progress.notes = notes.bytes
        progress.isComplete = notes.done >= linkers.count
        return progress
    }

    /// How many are done, and the notes of the one at work.
    private struct Notes {
        var done = 0
        var own: [UInt8] = []

        init(_ bytes: [UInt8]) {
            guard let first = bytes.first else { return }
            done = Int(first)
            own = Array(bytes.dropFirst())
        }

        var bytes: [UInt8] { [UInt8(clamping: done)] + own }
    }
}
