import Experimentation
import ExperimentationSQLite
import Foundation

/// The store files of a run, in a temporary folder.
struct StoreFiles: Sendable {
    private let folder = TemporaryFolder(of: "conform")

    /// Opens the file of an id; the same id gives the same file.
    func open(_ id: String) async throws -> ClientStore {
        try folder.create()
        return try await .sqlite(at: folder.url.appending(path: "\(id).sqlite"))
    }

    /// Removes the folder.
    func remove() { folder.remove() }

    /// Has the folder removed once this process has ended.
    func removeAfterwards() { folder.removeAfterwards() }
}
