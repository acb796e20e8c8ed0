import Experimentation
import ExperimentationSQLite
import Foundation

/// The store files of a run, in a temporary folder.
struct StoreFiles: Sendable {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "xp-conform-\(UUID().uuidString)")

    /// Opens the file of an id; the same id gives the same file.
    func open(_ id: String) async throws -> ClientStore {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try await .sqlite(at: folder.appending(path: "\(id).sqlite"))
    }

    /// Removes the folder.
    func remove() { try? FileManager.default.removeItem(at: folder) }
}
