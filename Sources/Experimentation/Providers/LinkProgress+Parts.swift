import Foundation

/// A link at several vendors, whose progress is kept in the notes of one ``LinkProgress``.
extension LinkProgress {
    /// The progress at each vendor, by a name that the caller chooses; empty at the beginning, and if the notes are
    /// unreadable.
    package var parts: [String: LinkProgress] {
        (try? JSONDecoder().decode([String: LinkProgress].self, from: Data(notes))) ?? [:]
    }

    /// Returns this progress with other parts.
    ///
    /// - Throws: ``ErrorCode/store`` if they can't be written.
    package func with(parts: [String: LinkProgress]) throws(ExperimentationError) -> LinkProgress {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let notes = try? encoder.encode(parts) else {
            throw ExperimentationError(.store, "The progress of linking can't be stored.")
        }
        var progress = self
        progress.notes = Array(notes)
        return progress
    }
}
